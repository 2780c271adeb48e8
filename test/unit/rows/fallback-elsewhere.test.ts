import { Observable, of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { memoryAnswerCache } from '../../../src/adapters/system/answer-cache.ts';
import type { AnswerCache } from '../../../src/ports/answer-cache.ts';
import { news } from '../../support/calls.ts';
import { platform, top } from '../../support/outage-bench.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('an answer that another replica remembers', () => {
  /** Knows one answer, but only when it is asked, and answers after 30 ms. */
  function elsewhere(bench: () => PipelineBench): AnswerCache & { asked: number } {
    let near: AnswerCache | undefined;
    const known = (): AnswerCache => (near ??= memoryAnswerCache(bench().time));
    const cache: AnswerCache & { asked: number } = {
      asked: 0,
      get: (key) => known().get(key),
      mayKnow: () => cache.asked === 0,
      lookUp: (key) => {
        if (!cache.mayKnow(key)) return of(known().get(key));
        cache.asked++;
        const answer = {
          status: 200,
          code: undefined,
          contentType: undefined,
          body: Buffer.from('"far"'),
          storedAtMs: 0,
        };
        return new Observable((subscriber) =>
          bench().time.after(30, () => {
            known().put(key, answer, 60_000);
            subscriber.next(answer);
            subscriber.complete();
          }),
        );
      },
      put: () => undefined,
    };
    return cache;
  }

  it.each([
    ['while the breaker is open', true],
    ['after an attempt that failed', false],
  ])('is asked for once, and stands in %s', (_, opens) => {
    const answers = elsewhere(() => bench);
    const upstream = {
      ...platform,
      fallback: platform.fallback,
      answers,
      breaker: { consecutiveFailures: opens ? 1 : 99, openJitter: 0 },
    };
    const bench = new PipelineBench({ upstreams: { news: upstream } });
    bench.upstream('news').script = () => ({ status: 503 });
    bench.start();
    if (opens) bench.call(news('opens', { fallback: false, retry: false }));
    bench.run(10);
    bench.call(news('n', top));
    bench.run(29);
    expect(bench.results).toEqual([]);
    bench.run(2);

    expect(bench.results).toMatchObject([{ id: 'n', source: 'cache', response: { body: 'far' } }]);
    expect(answers.asked).toBe(1);
  });
});
