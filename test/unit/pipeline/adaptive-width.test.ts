import { describe, expect, it } from 'vitest';

import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const upstream = { concurrency: 32, bucketConcurrency: 32, attemptMs: 1_000 } as const;

describe('the width of an upstream in the pipeline', () => {
  it('narrows while too many calls at once time out, widens again, and is never overshot on the way back', () => {
    const bench = new PipelineBench({ upstreams: { news: { ...upstream, breaker: 'off' } } });
    const seen = bench.upstream('news');
    // It serves eight at once; the ninth and those after it get no answer.
    let atOnce = 0;
    let most = 0;
    let room = 8;
    seen.script = () => {
      atOnce++;
      most = Math.max(most, atOnce);
      const served = atOnce <= room;
      const ms = served ? 50 : 1_000;
      bench.time.after(ms, () => atOnce--);
      return served ? { afterMs: ms } : { hang: true };
    };
    const { house } = bench.start();
    const { width } = house.destinations.get('news')!;
    let n = 0;
    const offer = (seconds: number): void => {
      for (let tick = 0; tick < seconds * 20; tick++) {
        for (let i = 0; i < 20; i++) bench.call(news(`n-${n++}`, { method: 'GET' }));
        bench.run(50);
      }
    };

    offer(20);
    expect(width.limit).toBeLessThanOrEqual(10);
    most = 0;
    room = 32;
    offer(20);
    const soon = width.limit;
    expect(soon).toBeLessThanOrEqual(20);
    expect(most).toBeLessThanOrEqual(soon);
    offer(60);
    expect(width.limit).toBe(32);
    expect(most).toBe(32);
  });

  it('is left alone by an outage: while the breaker is not closed its own slow start holds the load down', () => {
    const bench = new PipelineBench({ upstreams: { news: { ...upstream, breaker: { consecutiveFailures: 5 } } } });
    bench.upstream('news').script = () => ({ hang: true });
    const { house } = bench.start();
    const { width } = house.destinations.get('news')!;
    for (let i = 0; i < 200; i++) bench.call(news(`n-${i}`, { method: 'GET' }));
    bench.run(60_000);

    // Five timeouts opened it; all that came after them say no more than that.
    expect(width.limit).toBe(18);
  });
});
