import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Coming, FullLanes } from '../../../../src/operators/lanes/full-lanes.ts';

const waitsMs = [10_000, 60_000, 600_000, 3_600_000];
const capacityItems = 200;

type Lanes = Pick<FullLanes, 'comes' | 'back' | 'ended' | 'stats'>;

/** A flood of one flow at a pace that may change once, and a trickle of another behind it. */
const flood = fc.record({
  count: fc.integer({ min: 300, max: 4_000 }),
  perSecond: fc.integer({ min: 2, max: 6 }),
  known: fc.boolean(),
  slowerFromMs: fc.integer({ min: 0, max: 300_000 }),
});

/** Runs a flood to its end; throws where somebody waits who need not. */
function run(
  lanes: Lanes,
  { count, perSecond, known, slowerFromMs }: typeof flood extends fc.Arbitrary<infer F> ? F : never,
) {
  const outside: { readonly dueMs: number; readonly order: number }[] = [];
  let [unread, here, served, sent, idleMs] = [count, 0, 0, 0, 0];
  let neverFull = true;
  const stepMs = 250;
  const others = 20;
  for (let nowMs = 0; served < count; nowMs += stepMs) {
    if (nowMs > 4 * 3_600_000) throw new Error('it never ends');
    const coming = (order: number): Coming => ({
      nowMs,
      order,
      freeItems: capacityItems - here - others,
      perSecond: known ? perSecond : undefined,
      mostMs: Infinity,
    });
    const arrive = (order: number): void => {
      const waitMs = lanes.comes('a', coming(order));
      if (waitMs === undefined) here++;
      else {
        sent++;
        outside.push({ dueMs: nowMs + waitMs, order });
      }
    };
    outside.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
    const due = outside.filter(({ dueMs }) => dueMs <= nowMs).length;
    for (const { order } of outside.splice(0, due)) {
      lanes.back('a', nowMs);
      arrive(order);
    }
    for (; unread > 0 && here + others < capacityItems; unread--) arrive(count - unread);
    // A partition that is held up although the flow could be sent away.
    if (unread > 0 && known) neverFull = false;
    const rate = nowMs >= slowerFromMs ? perSecond / 2 : perSecond;
    const most = Math.floor(((nowMs + stepMs) * rate) / 1_000) - Math.floor((nowMs * rate) / 1_000);
    for (let n = 0; n < most; n++) {
      if (here === 0) {
        if (unread > 0 || outside.length > 0) idleMs += 1_000 / rate;
        break;
      }
      here--;
      served++;
      lanes.ended('a', false, nowMs, true);
    }
    if (here > capacityItems) throw new Error('more is here than fits');
  }
  if (!neverFull) throw new Error('its partition was held up');
  // What came back late by one look is not the flow's pace.
  const allowedMs = 2_000 + (served * 1_000) / perSecond / 20;
  if (idleMs > allowedMs) throw new Error(`it was idle for ${idleMs} ms while it had ${count}`);
  const hops = sent / count;
  if (hops > 20) throw new Error(`${hops} writes per record`);
  return hops;
}

describe('FullLanes, as a flood runs to its end', () => {
  const runs = { numRuns: 60, seed: 5 };

  it('nobody behind it is held up, its quota is used as if nothing had been sent away, and writes are bounded', () => {
    fc.assert(
      fc.property(flood, (one) => void run(new FullLanes({ waitsMs }), one)),
      runs,
    );
  });

  const mutants: Readonly<Record<string, () => Lanes>> = {
    'sends away for the longest wait': () => {
      const lanes = new FullLanes({ waitsMs: [600_000] });
      return { comes: (name, one) => lanes.comes(name, one), ...rest(lanes) };
    },
    'never sends away': () => {
      const lanes = new FullLanes({ waitsMs: [] });
      return { comes: (name, one) => lanes.comes(name, one), ...rest(lanes) };
    },
    'sends away for the shortest wait alone': () => {
      const lanes = new FullLanes({ waitsMs: [10_000] });
      return { comes: (name, one) => lanes.comes(name, one), ...rest(lanes) };
    },
    'does not notice what comes back': () => {
      const lanes = new FullLanes({ waitsMs });
      return { comes: (name, one) => lanes.comes(name, one), ...rest(lanes), back: () => undefined };
    },
    'never notices that one has ended': () => {
      const lanes = new FullLanes({ waitsMs });
      return { comes: (name, one) => lanes.comes(name, one), ...rest(lanes), ended: () => undefined };
    },
  };

  function rest(lanes: FullLanes): Omit<Lanes, 'comes'> {
    return {
      back: (name, nowMs) => lanes.back(name, nowMs),
      ended: (name, waits, nowMs, served) => lanes.ended(name, waits, nowMs, served),
      stats: (nowMs) => lanes.stats(nowMs),
    };
  }

  it.each(Object.entries(mutants))('the property catches one that %s', (_what, make) => {
    expect(
      fc.check(
        fc.property(flood, (one) => void run(make(), one)),
        runs,
      ).failed,
    ).toBe(true);
  });
});
