import { afterEach, describe, expect, it } from 'vitest';

import type { Call } from '../../../src/model/call.ts';
import type { Result } from '../../../src/model/result.ts';
import type { FaultRule } from '../../../src/sandbox/faults/fault-rule.ts';
import { send } from '../../support/calls.ts';
import { type LiveHouse, openLiveHouse } from '../../support/live-house.ts';

const attemptMs = 300;

/** One fault of the platform, and what it does to a call as its result and the metrics tell. */
describe('S000-79: the effect of a fault', () => {
  let house: LiveHouse;
  afterEach(() => house.close());

  async function endedUnder(rule: FaultRule, call: Call): Promise<{ readonly result: Result; readonly page: string }> {
    house = await openLiveHouse({
      raw: (url) => ({
        upstreams: {
          feishu: { timeouts: { attemptMs, totalMs: 30_000 }, retry: { baseMs: 20 } },
          news: {
            baseUrl: `${url}/echo`,
            retry: { maxAttempts: 20, baseMs: 5, floorMs: 1 },
            breaker: { consecutiveFailures: 2, minCalls: 2 },
            fallback: { default: { items: [] }, afterAttempts: 2 },
          },
        },
      }),
    });
    house.sandbox.setFaults([rule]);
    await house.produce([[call, 'k']]);
    await house.ended(1);
    const [result] = await house.results();
    return { result: result!, page: await house.metrics.text() };
  }

  it('time-out: the call is made again and takes longer, by the time of the attempt that was given up', async () => {
    const { result, page } = await endedUnder({ kind: 'timeout', match: { times: 1 } }, send('m-1', 'oc_1'));
    expect(result).toMatchObject({ status: 'ok', attempts: [{ class: 'ambiguous' }, { class: 'success' }] });
    expect(result.attempts[0]!.ms).toBeGreaterThanOrEqual(attemptMs - 1);
    expect(result.timing.totalMs).toBeGreaterThan(attemptMs);
    expect(page).toContain('service_retry_total{service="feishu",status_code="0",error_type="timeout"} 1');
    expect(page).toContain('larkspur_attempts_total{upstream="feishu",class="ambiguous"} 1');
  });

  it('503: the declared answer stands in, and the breaker opens', async () => {
    const call = { id: 'n-1', upstream: 'news', method: 'GET', path: '/items' } as const;
    const { result, page } = await endedUnder({ kind: '503' }, call);
    expect(result).toMatchObject({ status: 'fallback', source: 'default', response: { body: { items: [] } } });
    expect(result.attempts.length).toBeGreaterThanOrEqual(1);
    expect(new Set(result.attempts.map(({ status }) => status))).toEqual(new Set([503]));
    expect(page).toContain('larkspur_records_ended_total{upstream="news",ending="result",reason="fallback"} 1');
    expect(page).toMatch(/larkspur_breaker_state\{upstream="news",breaker="[^"]+"\} 3/);
  });

  it('429: the bucket rests for as long as the platform says, and the call with it', async () => {
    const { result, page } = await endedUnder(
      { kind: '429', resetSeconds: 1, match: { times: 1 } },
      send('m-2', 'oc_1'),
    );
    expect(result.attempts).toMatchObject([
      { class: 'rate-limited', status: 429 },
      { class: 'success', waitedFor: 'rate-limit' },
    ]);
    expect(result.attempts[1]!.waitedMs).toBeGreaterThanOrEqual(990);
    expect(result.timing.limitedMs).toBeGreaterThanOrEqual(990);
    expect(page).toContain(
      'larkspur_quota_refusals_total{upstream="feishu",bucket="POST /open-apis/im/v1/messages"} 1',
    );
  });
});
