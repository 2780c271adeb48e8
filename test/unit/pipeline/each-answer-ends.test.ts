import { describe, expect, it } from 'vitest';

import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import type { Reply } from '../../support/scripted-upstream.ts';

const second = 1_000;
const minute = 60 * second;

describe('each answer, with each number of attempts, time and credit', () => {
  const replies: readonly (readonly [string, Reply])[] = [
    ['success', {}],
    ['rate-limited', { status: 429, headers: { 'retry-after': '1' } }],
    ['quota', { status: 429, headers: { 'retry-after': '7200' } }],
    ['retryable', { status: 503 }],
    ['ambiguous', { hang: true }],
    ['cut after it left', { fail: { how: 'reset', sent: true } }],
    ['never left', { fail: { how: 'refused', sent: false } }],
    ['permanent', { status: 400 }],
    ['permission', { status: 403 }],
  ];
  const limits = [1, 3] as const;
  const lives = [200, 5 * second, 40 * minute] as const;
  const credits = [0, 10] as const;
  const table = replies.flatMap(([what, reply]) =>
    limits.flatMap((most) => lives.flatMap((ttlMs) => credits.map((start) => ({ what, reply, most, ttlMs, start })))),
  );

  it.each(table)(
    'P27: a call answered $what, with $most attempts, $ttlMs ms and a credit of $start ends once, within its bounds',
    ({ reply, most, ttlMs, start }) => {
      const retry = { maxAttempts: most, attemptsInARow: most, budget: { start, perSuccess: 0.1, cap: 50 } };
      for (const method of ['GET', 'POST']) {
        const bench = new PipelineBench({ upstreams: { news: { retry, breaker: 'off', attemptMs: second } } });
        const upstream = bench.upstream('news');
        upstream.script = () => ({ afterMs: 10, ...reply });
        bench.start();
        bench.call(news('n-1', { method, ttlMs }));
        bench.run(ttlMs + minute);

        expect(bench.results.length + bench.deadLetters.length).toBe(1);
        expect(bench.lag).toBe(0);
        const { attempts } = upstream;
        expect(attempts.every(({ atMs }) => atMs < ttlMs)).toBe(true);
        // A refusal costs no attempt; what may have acted is not repeated where nobody recognises the repeat.
        const mayHaveActed = method === 'POST' && (reply.hang === true || reply.fail?.sent === true);
        const bound = reply.status === 429 ? Infinity : mayHaveActed ? 1 : most;
        expect(attempts.length).toBeLessThanOrEqual(bound);
      }
    },
  );
});
