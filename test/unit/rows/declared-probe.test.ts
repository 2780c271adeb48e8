import { describe, expect, it } from 'vitest';

import { tokenProbe } from '../../../src/adapters/feishu/token-probe.ts';
import { httpProbe } from '../../../src/adapters/http/health-probe.ts';
import type { Exchange } from '../../../src/model/outcome.ts';
import type { BreakerOptions } from '../../../src/operators/breaker/options.ts';
import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import type { SeenAttempt } from '../../support/scripted-upstream.ts';

const mark = { 'X-Feishu-Health-Check': 'true' };
const probe = httpProbe({ pathPrefix: '', path: '/health', headers: mark, expect: 200, withinMs: 800 });
const isProbe = ({ path }: SeenAttempt): boolean => path === '/health';

/** `news` fails its calls; its probes get one answer after the other, then good ones. Opens at time 0. */
function outage(answers: readonly ('ok' | 'fail' | 'late')[], breaker: Partial<BreakerOptions> = {}) {
  const options = { consecutiveFailures: 1, openJitter: 0, probesToClose: 3, probes: 3, rampMs: 0, ...breaker };
  const bench = new PipelineBench({ upstreams: { news: { probe, breaker: options } } });
  const upstream = bench.upstream('news');
  let n = 0;
  let down = true;
  upstream.script = (attempt) => {
    if (!isProbe(attempt)) return { status: down ? 503 : 200 };
    const answer = answers[n++] ?? 'ok';
    return answer === 'late' ? { afterMs: 801 } : { status: answer === 'ok' ? 200 : 503, afterMs: 40 };
  };
  const worker = bench.start();
  const breakers = worker.house.destinations.get('news')?.breakers;
  bench.call(news('opens', { retry: false }));
  bench.run(5);
  return {
    bench,
    worker,
    breakers,
    state: () => breakers?.get('news.internal/news').snapshot(bench.time.now()).state,
    probesAt: () => upstream.attempts.filter(isProbe).map(({ atMs }) => Math.round(atMs / 100) / 10),
    calls: () => upstream.attempts.filter((attempt) => !isProbe(attempt)),
    heal: () => {
      down = false;
    },
    attempts: upstream.attempts,
  };
}

describe('a breaker with a declared probe', () => {
  it('S000-52: probes at +1, +3, +7 s and nothing else reaches the upstream while it is open', () => {
    const { bench, probesAt, calls, state } = outage(['fail', 'fail', 'fail']);
    for (let i = 0; i < 50; i++) bench.call(news(`n-${i}`));
    bench.run(7_500);

    expect(probesAt()).toEqual([1, 3, 7]);
    expect([state(), calls().map(({ id }) => id)]).toEqual(['open', ['opens']]);
  });

  it('S000-52: goes on at +15, +25, +35 s: never more than 10 s apart', () => {
    const { bench, probesAt } = outage(Array.from({ length: 20 }, () => 'fail' as const));
    bench.run(36_000);

    expect(probesAt()).toEqual([1, 3, 7, 15, 25, 35]);
  });

  it('S000-53: ok, ok, fail, ok, ok, ok: calls come back only at the end, and probes go one at a time', () => {
    const { bench, calls, probesAt, state, heal } = outage(['ok', 'ok', 'fail', 'ok', 'ok', 'ok']);
    heal();
    bench.call(news('waits'));
    bench.run(34_900);
    expect([state(), calls()]).toMatchObject(['open', [{ id: 'opens' }]]);
    bench.run(1_000);

    expect(probesAt()).toEqual([1, 3, 7, 15, 25, 35]);
    expect([state(), bench.results.map(({ id }) => id)]).toEqual(['closed', ['waits']]);
    expect(bench.upstream('news').mostInFlight).toBe(1);
  });

  it('S000-53: lets no call through before the cool-down is over, however good the probes are', () => {
    const { bench, calls, heal } = outage([], { coolDownMs: 60_000, maxOpenMs: 60_000 });
    heal();
    bench.call(news('waits'));
    bench.run(59_990);
    expect(calls()).toHaveLength(1);
    bench.run(20);

    expect(bench.results.map(({ id }) => id)).toEqual(['waits']);
  });

  it('S000-54: marks its probes, and only these', () => {
    const { bench, attempts, heal } = outage(['fail']);
    heal();
    for (let i = 0; i < 20; i++) bench.call(news(`n-${i}`));
    bench.run(60_000);
    const marked = attempts.filter(({ headers }) => headers['x-feishu-health-check'] === 'true');

    expect(bench.results).toHaveLength(20);
    expect(marked).toEqual(attempts.filter(isProbe));
  });

  it('takes a probe that answers late for a bad one', () => {
    const { bench, state, heal } = outage(['late', 'late', 'late']);
    heal();
    bench.run(8_000);

    expect(state()).toBe('open');
  });

  it('stops probing when a person closes it', () => {
    const { bench, breakers, probesAt } = outage([]);
    bench.run(1_500);
    breakers?.forceAll('closed', bench.time.now());
    bench.run(60_000);

    expect(probesAt()).toEqual([1]);
  });

  it('stops probing with its worker', () => {
    const { bench, worker, probesAt } = outage([]);
    bench.run(1_500);
    worker.crash();
    bench.run(60_000);

    expect(probesAt()).toEqual([1]);
  });

  it('has its share of the traffic judged after the probes where that is wanted', () => {
    const { bench, state, heal } = outage([], { halfOpenShare: 0.05, probes: 3 });
    heal();
    for (let i = 0; i < 20; i++) bench.call(news(`n-${i}`));
    bench.run(7_100);
    expect(state()).toBe('half-open');
    bench.run(3_000);

    expect([state(), bench.results.length]).toEqual(['closed', 20]);
  });
});

describe('an answer of the token endpoint', () => {
  const app = { id: 'cli_a', secret: 'the secret' };
  const asked = tokenProbe({ app, pathPrefix: '', headers: mark, withinMs: 800, minExpireS: 1_800 });
  const answer = (status: number, body: unknown): Extract<Exchange, { kind: 'answered' }> => ({
    kind: 'answered',
    status,
    headers: {},
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  });
  const good = { code: 0, app_access_token: 't-1', expire: 7_200 };

  it.each([
    [200, good, undefined],
    [200, { ...good, expire: 1_800 }, undefined],
    [200, { ...good, expire: 1_799 }, 'the token lives 1799 s instead of 1800'],
    [200, { code: 10_014, msg: 'app secret invalid' }, 'code 10014'],
    [200, { code: 0, expire: 7_200 }, 'the answer has no token'],
    [200, { code: 0, app_access_token: 't-1' }, 'the answer does not say how long its token lives'],
    [200, 'a page of a proxy', 'the answer has no code'],
    [503, good, 'HTTP 503'],
  ])('S000-55: HTTP %i %j: %s', (status, body, fault) => {
    expect(asked.fault(answer(status, body))).toBe(fault);
  });

  it('S000-54: asks for an app token, with the mark', () => {
    expect(asked.request).toMatchObject({
      method: 'POST',
      path: '/open-apis/auth/v3/app_access_token/internal',
      headers: { 'x-feishu-health-check': 'true' },
    });
  });
});
