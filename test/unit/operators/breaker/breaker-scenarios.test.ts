import { describe, expect, it } from 'vitest';

import type { Breaker, Permit } from '../../../../src/operators/index.ts';

import {
  CountsNeutralEndings,
  ForgetsGenerations,
  type Make,
  of,
  real,
  TakesAnyStepForTime,
  withOptions,
} from './mutants.ts';

function granted(breaker: Breaker, nowMs: number): Permit {
  const answer = breaker.acquire(nowMs);
  if (answer.kind === 'refused') throw new Error(`refused at ${nowMs}`);
  return answer;
}
function calls(breaker: Breaker, nowMs: number, count: number, failed: boolean, ms = 50): void {
  for (let n = 0; n < count; n++) breaker.record(granted(breaker, nowMs), nowMs, failed, ms);
}
const stateAt = (breaker: Breaker, nowMs: number): string => breaker.snapshot(nowMs).state;
const grants = (breaker: Breaker, nowMs: number, count: number): number =>
  Array.from({ length: count }, () => breaker.acquire(nowMs)).filter(({ kind }) => kind !== 'refused').length;

/** What is to be seen in a scenario, what a right breaker shows, and one that is wrong in just this. */
const scenarios: readonly (readonly [name: string, see: (make: Make) => unknown, shows: unknown, mutant: Make])[] = [
  [
    'S1: the 15th failure in a row opens it for a second',
    (make) => {
      const breaker = make();
      calls(breaker, 0, 14, true);
      const before = stateAt(breaker, 0);
      calls(breaker, 0, 1, true);
      return [before, stateAt(breaker, 0), breaker.peek(0)];
    },
    ['closed', 'open', 1_000],
    withOptions({ consecutiveFailures: 14 }),
  ],
  [
    'S2: the ratio counts from the 20th call on',
    (make) => {
      const breaker = make();
      for (let n = 0; n < 19; n++) calls(breaker, 0, 1, n % 2 === 0);
      const before = stateAt(breaker, 0);
      calls(breaker, 0, 1, true);
      return [before, stateAt(breaker, 0)];
    },
    ['closed', 'open'],
    withOptions({ minCalls: 21 }),
  ],
  [
    'S3: failures count for 10 s',
    (make) =>
      [9_999, 10_000].map((atMs) => {
        const breaker = make();
        calls(breaker, 0, 12, true);
        calls(breaker, atMs, 1, false);
        calls(breaker, atMs, 7, true);
        return stateAt(breaker, atMs);
      }),
    ['open', 'closed'],
    withOptions({ windowMs: 11_000, buckets: 11 }),
  ],
  [
    'S4: a clock that goes back and forth loses no call',
    (make) => {
      const breaker = make();
      calls(breaker, 0, 10, false);
      calls(breaker, -60_000, 5, false);
      calls(breaker, 0, 1, false);
      return breaker.snapshot(0).calls;
    },
    16,
    of(TakesAnyStepForTime),
  ],
  [
    'S5: five probes when its time is over, and a ramp at the fourth success',
    (make) => {
      const breaker = make();
      calls(breaker, 0, 15, true);
      const early = breaker.acquire(999).kind;
      const probes = Array.from({ length: 5 }, () => granted(breaker, 1_000));
      const sixth = breaker.acquire(1_000).kind;
      const states = probes.slice(0, 4).map((probe) => {
        breaker.record(probe, 1_000, false, 10);
        return stateAt(breaker, 1_000);
      });
      return [early, sixth, ...states];
    },
    ['refused', 'refused', 'half-open', 'half-open', 'half-open', 'ramp'],
    withOptions({ probesToClose: 3 }),
  ],
  [
    'S6: rounds of failing probes come 1, 2, 4, 8, 10 s apart',
    (make) => {
      const breaker = make();
      calls(breaker, 0, 15, true);
      let nowMs = 0;
      return Array.from({ length: 5 }, () => {
        const untilMs = breaker.peek(nowMs) ?? NaN;
        const waitMs = untilMs - nowMs;
        nowMs = untilMs;
        calls(breaker, nowMs, 2, true);
        return [waitMs, stateAt(breaker, nowMs)];
      });
    },
    [1_000, 2_000, 4_000, 8_000, 10_000].map((ms) => [ms, 'open']),
    withOptions({ maxOpenMs: 20_000 }),
  ],
  [
    'S7: a call from before the outage that fails late changes nothing',
    (make) => {
      const breaker = make();
      const late = granted(breaker, 0);
      calls(breaker, 0, 15, true);
      granted(breaker, 1_000);
      const told = [1, 2].map(() => breaker.record(late, 9_000, true, 9_000));
      return [told, stateAt(breaker, 9_000), breaker.snapshot(9_000).generation];
    },
    [[false, false], 'half-open', 3],
    of(ForgetsGenerations),
  ],
  [
    'S8: lost probes free their places after 15 s, in a new generation',
    (make) => {
      const breaker = make();
      calls(breaker, 0, 15, true);
      for (let n = 0; n < 5; n++) granted(breaker, 1_000);
      const { generation } = breaker.snapshot(1_000);
      const kinds = [15_999, 16_000].map((atMs) => breaker.acquire(atMs).kind);
      return [kinds[0], kinds[1] === 'refused', breaker.snapshot(16_000).generation - generation];
    },
    ['refused', false, 1],
    withOptions({ probeLeaseMs: 14_999 }),
  ],
  [
    'S9: the ramp lets 50, 75 and 100 % through',
    (make) => {
      let n = 0;
      const breaker = make({ next: () => n++ / 1_000 });
      calls(breaker, 0, 15, true);
      calls(breaker, 1_000, 4, false);
      const shares = [0, 1_500, 2_999, 3_000].map((afterMs) => {
        n = 0;
        return grants(breaker, 1_000 + afterMs, 1_000);
      });
      return [...shares, stateAt(breaker, 4_000)];
    },
    [500, 750, 1_000, 1_000, 'closed'],
    withOptions({ rampFrom: 0.4 }),
  ],
  [
    'S10: 16 slow calls of 20 open it, 15 do not',
    (make) =>
      [15, 16].map((slow) => {
        const breaker = make();
        calls(breaker, 0, 20 - slow, false, 2_999);
        calls(breaker, 0, slow, false, 3_000);
        return stateAt(breaker, 0);
      }),
    ['closed', 'open'],
    withOptions({ slowMs: 3_001 }),
  ],
  [
    'S11: a hundred neutral endings leave no trace, and in half-open they give their places back',
    (make) => {
      const breaker = make();
      for (let n = 0; n < 100; n++) breaker.release(granted(breaker, 0));
      const { calls: counted, state } = breaker.snapshot(0);
      if (state !== 'closed') return state;
      calls(breaker, 0, 15, true);
      let passed = 0;
      for (let n = 0; n < 50; n++, passed++) breaker.release(granted(breaker, 1_000));
      return [counted, passed, stateAt(breaker, 1_000)];
    },
    [0, 50, 'half-open'],
    of(CountsNeutralEndings),
  ],
];

const seen = (see: (make: Make) => unknown, make: Make): unknown => {
  try {
    return see(make);
  } catch (error) {
    return error instanceof Error ? error.message : error;
  }
};

describe('Breaker, scenarios each with a mutant', () => {
  it.each(scenarios)('%s', (_, see, shows, mutant) => {
    expect(see(real)).toEqual(shows);
    expect(seen(see, mutant)).not.toEqual(shows);
  });
});
