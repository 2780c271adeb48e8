import { describe, expect, it } from 'vitest';

import { readScenario } from '../../../../src/config/scenario.ts';
import { scenarioOf, scenarioText, type SeenAttempt } from '../../../../src/runtime/chaos/incident.ts';

const fromMs = Date.UTC(2026, 10, 30, 14, 30);
const span = { fromMs, toMs: fromMs + 40_000 };
const at = (ms: number) => new Date(fromMs + ms).toISOString();
const ok = (upstream: string, ms: number, took = 20): SeenAttempt => ({
  upstream,
  started: at(ms),
  ms: took,
  class: 'success',
  status: 200,
});

/** An attempt each 100 ms for so long. */
const every = (fromMs: number, toMs: number, make: (ms: number) => SeenAttempt): SeenAttempt[] =>
  Array.from({ length: (toMs - fromMs) / 100 }, (_, n) => make(fromMs + n * 100));

describe('a scenario out of an incident', () => {
  it('holds what failed, per upstream and kind: its share, its begin, how long', () => {
    const attempts = [
      ...every(0, 40_000, (ms) =>
        ms >= 10_000 && ms < 20_000 && ms % 200 === 0
          ? { upstream: 'news', started: at(ms), ms: 5, class: 'retryable', status: 503 }
          : ok('news', ms),
      ),
      ...every(30_000, 32_000, (ms) => ({
        upstream: 'feishu',
        started: at(ms),
        ms: 3,
        class: 'rate-limited',
        status: 429,
      })),
      ...every(0, 40_000, (ms) => ok('weather', ms)),
    ];
    expect(scenarioOf('outage', span, attempts)).toMatchObject({
      blastRadius: { upstreams: ['news', 'feishu'] },
      faults: [
        {
          kind: '503',
          match: { upstream: 'news' },
          rate: expect.closeTo(0.5, 1) as number,
          afterMs: 10_000,
          forMs: 9_800,
        },
        { kind: '429', match: { upstream: 'feishu' }, rate: 1, afterMs: 30_000, forMs: 1_900 },
      ],
    });
  });

  it('takes an outage of hundreds of thousands of attempts', () => {
    const attempts = Array.from({ length: 300_000 }, (_, n): SeenAttempt => {
      return { upstream: 'news', started: at(n / 10), ms: 5, class: 'retryable', status: 503 };
    });
    expect(scenarioOf('large', span, attempts)?.faults).toMatchObject([{ kind: '503', afterMs: 0, forMs: 29_999 }]);
  });

  it('tells answers that got slow, by what they took longer than before', () => {
    const attempts = every(0, 40_000, (ms) => ok('news', ms, ms >= 20_000 && ms < 30_000 ? 320 : 20));
    expect(scenarioOf('slow', span, attempts)?.faults).toEqual([
      { kind: 'latency', delayMs: 300, match: { upstream: 'news' }, afterMs: 20_000, forMs: 10_000 },
    ]);
  });

  it('tells a reset and a timeout apart, and lets both act: that is the hard case', () => {
    const failed = (ms: number, message: string): SeenAttempt => ({
      upstream: 'news',
      started: at(ms),
      ms: 1,
      class: 'ambiguous',
      message,
    });
    const attempts = [
      failed(1_000, 'read ECONNRESET'),
      failed(2_000, 'no complete answer within 3000 ms'),
      ok('news', 3_000),
    ];
    expect(scenarioOf('both', span, attempts)?.faults).toMatchObject([
      { kind: 'reset', acts: true, afterMs: 1_000 },
      { kind: 'timeout', acts: true, afterMs: 2_000 },
    ]);
  });

  it('is none when nothing failed in that time', () => {
    const before = { ...ok('news', 0), class: 'retryable', status: 503, started: at(-1_000) };
    expect(scenarioOf('none', span, [...every(0, 40_000, (ms) => ok('news', ms)), before])).toBeUndefined();
  });

  it('plays a long incident faster, and says so', () => {
    const long = { fromMs, toMs: fromMs + 1_800_000 };
    const attempts = every(0, 1_800_000, (ms) =>
      ms >= 600_000 && ms < 1_200_000
        ? { upstream: 'news', started: at(ms), ms: 5, class: 'retryable', status: 503 }
        : ok('news', ms),
    );
    const scenario = scenarioOf('half-hour', long, attempts);
    expect(scenario?.incident).toContain('30 times as fast');
    expect(scenario?.faults).toMatchObject([
      { kind: '503', rate: 1, afterMs: 20_000, forMs: expect.closeTo(20_000, -2) as number },
    ]);
  });

  it('has the policies of its upstreams, without address and headers, and can be run as it is written', () => {
    const attempts = [
      { upstream: 'news', started: at(1_000), ms: 5, class: 'retryable', status: 500 },
      ok('news', 1_100),
    ];
    const upstreams = {
      news: {
        baseUrl: 'http://news.internal',
        concurrency: 5,
        retry: { maxAttempts: 4 },
        health: { path: '/h' },
        use: ['./x.mjs'],
      },
    };
    const scenario = scenarioOf('outage', span, attempts, upstreams);
    const text = scenarioText(scenario!);
    expect(text).not.toMatch(/internal|x\.mjs/);
    expect(readScenario(text, 'FILE').upstreams).toEqual({ news: { concurrency: 5, retry: { maxAttempts: 4 } } });
  });
});
