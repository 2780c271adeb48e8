import { describe, expect, it } from 'vitest';

import { read, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('calls that are refused for want of quota', () => {
  it('F19: a call that is refused twice waits for the reset each time; other APIs go on, the breaker stays closed', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ id, nth }) =>
      id === 'r' && nth <= 2
        ? { status: 400, headers: { 'x-ogw-ratelimit-reset': '3' }, body: { code: 99_991_400 } }
        : {};
    const { house } = bench.start();
    bench.call(read('r'));
    bench.run(100);
    for (let n = 0; n < 20; n++) bench.call(send(`s-${n}`, `oc_${n}`));
    bench.run(1_000);
    expect(bench.results.map(({ id }) => id)).toHaveLength(20);
    bench.run(10_000);
    const starts = bench
      .upstream()
      .of('r')
      .map(({ atMs }) => atMs);
    expect(starts).toHaveLength(3);
    expect(Math.min(...starts.slice(1).map((atMs, n) => atMs - (starts[n] ?? 0)))).toBeGreaterThanOrEqual(3_000);
    const breakers = [...(house.destinations.get('feishu')?.breakers?.entries() ?? [])];
    expect(breakers.map(([, breaker]) => breaker.snapshot(bench.time.now()).state)).toEqual(['closed']);
  });

  it('F20: a custom bot that refuses with 200 three times is asked again a second later or more, jittered, away from the minute', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) =>
      nth <= 3 ? { status: 200, body: { code: 11_232, msg: 'frequency limited' } } : { body: { code: 0 } };
    const { house } = bench.start();
    const post = (n: number) => ({
      id: `p-${n}`,
      path: `/open-apis/bot/v2/hook/h-${n}`,
      body: { msg_type: 'text', content: { text: 'hi' } },
    });
    // The bench begins at midnight, in the rush; the posts that follow run into the next full minutes.
    for (let n = 0; n < 60; n++) {
      bench.call(post(n));
      bench.run(2_000);
    }
    bench.run(30_000);
    expect([bench.results.length, bench.deadLetters]).toEqual([60, []]);
    const starts = [...Array(60).keys()].map((n) =>
      bench
        .upstream()
        .of(`p-${n}`)
        .map(({ atMs }) => atMs),
    );
    const waits = starts.flatMap((own) => own.slice(1).map((atMs, at) => atMs - (own[at] ?? NaN)));
    expect(waits).toHaveLength(180);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1_000);
    expect(new Set(waits).size).toBeGreaterThan(90);
    const again = starts.flatMap((own) => own.slice(1));
    expect(again.filter((atMs) => (atMs + 500) % 60_000 < 2_500)).toEqual([]);
    const breakers = [...(house.destinations.get('feishu')?.breakers?.entries() ?? [])];
    expect(breakers.map(([, breaker]) => breaker.snapshot(bench.time.now()).state)).toEqual(['closed']);
  });

  it('P16: ten minutes of nothing but refusals cost no attempt and no dead letter; then all is done', () => {
    const bench = new PipelineBench({ upstreams: { feishu: { retry: { maxAttempts: 1 } } } });
    bench.upstream().script = ({ atMs }) =>
      atMs < 600_000 ? { status: 429, headers: { 'x-ogw-ratelimit-reset': '10' }, body: { code: 99_991_400 } } : {};
    bench.start();
    for (let n = 0; n < 200; n++) bench.call(read(`r-${n}`));
    bench.run(700_000);
    expect(bench.deadLetters).toEqual([]);
    expect(bench.results).toHaveLength(200);
    // Once each ten seconds somebody tries.
    expect(bench.upstream().attempts.filter(({ atMs }) => atMs < 600_000).length).toBeLessThanOrEqual(60 * 20);
  });
});
