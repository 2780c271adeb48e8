import { describe, expect, it } from 'vitest';

import { read } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const hourMs = 3_600_000;

/** An answer of each class, given again and again; what it ends as when nothing else ends it; whether attempts are charged. */
const answers = {
  success: { answer: { body: { code: 0 } }, end: 'ok', repeats: 'never' },
  duplicate: { answer: { status: 400, body: { code: 60_012 } }, end: 'ok', repeats: 'never' },
  permanent: { answer: { status: 400, body: { code: 230_001 } }, end: 'permanent', repeats: 'never' },
  auth: { answer: { status: 400, body: { code: 99_991_663 } }, end: 'auth_failed', repeats: 'once' },
  retryable: { answer: { status: 503 }, end: 'attempts_exhausted', repeats: 'charged' },
  ambiguous: { answer: { status: 504 }, end: 'attempts_exhausted', repeats: 'charged' },
  'rate-limited': {
    answer: { status: 400, headers: { 'x-ogw-ratelimit-reset': '2' }, body: { code: 99_991_400 } },
    end: 'deadline_passed',
    repeats: 'free',
  },
  quota: { answer: { status: 429, body: { code: 99_991_403 } }, end: 'deadline_passed', repeats: 'free' },
} as const;
const full = { start: 50, perSuccess: 0.1, cap: 50 };
const empty = { ...full, start: 0 };

const cells = Object.entries(answers).flatMap(([kind, row]) =>
  [1, 5].flatMap((maxAttempts) =>
    [4_000, 2 * hourMs, undefined].flatMap((ttlMs) =>
      [full, empty].map((budget) => ({ kind, ...row, maxAttempts, ttlMs, budget, credit: budget.start })),
    ),
  ),
);

/** A call that gets this answer again and again. */
function told({
  answer,
  maxAttempts,
  ttlMs,
  budget,
}: Omit<(typeof cells)[number], 'kind' | 'end' | 'repeats' | 'credit'>) {
  const bench = new PipelineBench({ upstreams: { feishu: { breaker: 'off', retry: { maxAttempts, budget } } } });
  bench.upstream().script = () => answer;
  bench.start();
  bench.call(read('r', ttlMs === undefined ? {} : { ttlMs }));
  const ends = () => [...bench.results.map(({ status }) => status), ...bench.deadLetters.map((dead) => dead.reason)];
  bench.run(2.5 * hourMs);
  return { bench, ends };
}

// A refusal says nothing of the call: without a deadline it waits on, until it is let through.
const waitsOn = ({ kind, ttlMs }: (typeof cells)[number]) => kind === 'rate-limited' && ttlMs === undefined;

describe('what follows an answer', () => {
  it.each(cells.filter((cell) => !waitsOn(cell)))(
    'P27: $kind again and again, $maxAttempts attempts, $ttlMs ms to the deadline, credit of $credit: one end, within the policy',
    (cell) => {
      const { bench, ends } = told(cell);
      const { end, repeats, maxAttempts, ttlMs } = cell;
      const late = repeats === 'charged' && maxAttempts > 1 && ttlMs === 4_000;
      expect(ends()).toEqual([late ? 'deadline_passed' : end]);
      const made = bench.upstream().attempts;
      const most = { never: 1, once: 2, charged: maxAttempts, free: Infinity }[repeats];
      expect(made.length).toBeLessThanOrEqual(most);
      expect(made.every(({ atMs }) => atMs < (ttlMs ?? Infinity))).toBe(true);
      // Nothing more comes of it.
      bench.run(6 * hourMs);
      expect([ends().length, bench.upstream().attempts.length]).toEqual([1, made.length]);
    },
  );

  it.each(cells.filter(waitsOn))(
    'P27: $kind again and again, $maxAttempts attempts, no deadline, credit of $credit: it waits until it is let through',
    (cell) => {
      const { bench, ends } = told(cell);
      expect(ends()).toEqual([]);
      bench.upstream().script = () => answers.success.answer;
      bench.run(60_000);
      expect(ends()).toEqual(['ok']);
    },
  );
});
