import fc from 'fast-check';

import type { QuotaAnswer } from '../../../src/ports/quota-log.ts';
import { only } from '../only.ts';

import { ask, bucket, type QuotaLogBench } from './quota-bench.ts';

/** Buckets of the histories: an API with two windows, two receivers, and one that only rests. */
const api = bucket('api', [5, 1_000], [12, 10_000]);
const receivers = [bucket('receiver|1', [2, 1_000]), bucket('receiver|2', [2, 1_000])] as const;
const month = bucket('month');
/** Wide enough that its starts are spread. */
const wide = bucket('wide', [20, 1_000]);
const all = [api, ...receivers, month, wide];

/** One step of a history. */
export type HistoryStep =
  | {
      readonly do: 'take';
      readonly other: boolean;
      readonly receiver: number;
      readonly want: number;
      readonly aheadMs: number | undefined;
    }
  | { readonly do: 'give-back'; readonly pick: number }
  | { readonly do: 'refuse'; readonly which: number; readonly coolMs: number; readonly agoMs: number }
  | { readonly do: 'record'; readonly agoMs: readonly number[] }
  | { readonly do: 'wait'; readonly ms: number };

const take = fc.record({
  do: fc.constant('take' as const),
  other: fc.boolean(),
  receiver: fc.integer({ min: -1, max: 2 }),
  want: fc.integer({ min: 1, max: 4 }),
  aheadMs: fc.option(fc.nat({ max: 1_500 }), { nil: undefined }),
});
const giveBack = fc.record({ do: fc.constant('give-back' as const), pick: fc.nat({ max: 4 }) });
const wait = fc.record({
  do: fc.constant('wait' as const),
  ms: fc.oneof({ weight: 6, arbitrary: fc.nat({ max: 300 }) }, { weight: 1, arbitrary: fc.nat({ max: 11_000 }) }),
});
const refuse = fc.record({
  do: fc.constant('refuse' as const),
  which: fc.nat({ max: 4 }),
  coolMs: fc.integer({ min: 1, max: 3_000 }),
  agoMs: fc.nat({ max: 400 }),
});
const record = fc.record({
  do: fc.constant('record' as const),
  agoMs: fc.array(fc.nat({ max: 12_000 }), { maxLength: 5 }).map((ago) => ago.sort((a, b) => b - a)),
});

const sizes = { minLength: 40, maxLength: 120, size: 'max' as const };
/** Takes, returns and waits: what the exactness of a log is about. */
export const plainHistory = fc.array(
  fc.oneof({ weight: 5, arbitrary: take }, { weight: 1, arbitrary: giveBack }, { weight: 3, arbitrary: wait }),
  sizes,
);
/** Everything that may happen to a log. */
export const fullHistory = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: take },
    { weight: 1, arbitrary: giveBack },
    { weight: 4, arbitrary: wait },
    { weight: 1, arbitrary: refuse },
    { weight: 1, arbitrary: record },
  ),
  sizes,
);

interface Granted {
  readonly limits: (typeof all)[number][];
  readonly stamp: number;
  readonly atMs: number;
}

const limitsOf = (receiver: number): Granted['limits'] => {
  if (receiver === receivers.length) return [wide, month];
  const named = receivers[receiver];
  return named === undefined ? [api, month] : [api, named, month];
};

/** Plays a history and tells all that the log answered, times relative to its beginning. */
export async function play(bench: QuotaLogBench, history: readonly HistoryStep[]): Promise<unknown[]> {
  const seen: unknown[] = [];
  const granted: Granted[] = [];
  for (const step of history) {
    switch (step.do) {
      case 'wait':
        await bench.advance(step.ms);
        break;
      case 'take': {
        const limits = limitsOf(step.receiver);
        const { stamps, logMs, buckets, ...answer } = await ask(
          step.other ? bench.other : bench.log,
          limits,
          step.want,
          step.aheadMs,
        );
        for (const stamp of stamps) granted.push({ limits, stamp, atMs: bench.now() });
        seen.push({ ...answer, buckets: buckets.map(rounded) });
        break;
      }
      case 'give-back': {
        const [unused] = granted.splice(Math.max(0, granted.length - 1 - step.pick), 1);
        if (unused !== undefined) bench.log.giveBack(unused.limits, [unused.stamp]);
        await bench.settle();
        break;
      }
      case 'refuse': {
        const limit = all[step.which] ?? api;
        seen.push(rounded(await only(bench.log.refused({ limit, coolMs: step.coolMs, agoMs: step.agoMs }))));
        break;
      }
      case 'record':
        bench.log.record(api, step.agoMs);
        await bench.settle();
        break;
    }
  }
  return seen;
}

function rounded<T extends { readonly factor: number }>(view: T): T {
  return { ...view, factor: Math.round(view.factor * 1e5) / 1e5 };
}

/**
 * Plays a history against a model that filters all starts. Invariant 16: no half-open window of any bucket holds more than
 * its limit; 17: the wait is exact: a millisecond before there is no start, then there is.
 */
export async function isExact(bench: QuotaLogBench, history: readonly HistoryStep[]): Promise<boolean> {
  const starts: Granted[] = [];
  const room = (limits: Granted['limits'], atMs: number): number =>
    Math.min(
      ...limits.flatMap(({ key, windows }) =>
        windows.map(
          ({ limit, windowMs }) =>
            limit - starts.filter((s) => s.atMs > atMs - windowMs && s.limits.some((l) => l.key === key)).length,
        ),
      ),
    );
  for (const step of history) {
    if (step.do === 'wait') await bench.advance(step.ms);
    if (step.do === 'give-back') {
      const [unused] = starts.splice(Math.max(0, starts.length - 1 - step.pick), 1);
      if (unused !== undefined) bench.log.giveBack(unused.limits, [unused.stamp]);
      await bench.settle();
    }
    if (step.do !== 'take') continue;
    const limits = limitsOf(step.receiver);
    const nowMs = bench.now();
    const { granted, stamps, waitMs }: QuotaAnswer = await ask(step.other ? bench.other : bench.log, limits, step.want);
    if (granted !== Math.max(0, Math.min(step.want, room(limits, nowMs)))) return false;
    for (const stamp of stamps) starts.push({ limits, stamp, atMs: nowMs });
    if (room(limits, nowMs) < 0) return false;
    if (
      waitMs === 0 ? room(limits, nowMs) < 1 : room(limits, nowMs + waitMs - 1) > 0 || room(limits, nowMs + waitMs) < 1
    )
      return false;
  }
  return true;
}
