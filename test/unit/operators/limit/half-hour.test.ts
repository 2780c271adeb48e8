import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { halfHourSlot } from '../../../../src/operators/limit/half-hour.ts';

const minute = 60_000;
const halfHour = 30 * minute;
const mark = Date.UTC(2026, 10, 30, 8, 30);

const world = fc.record({
  share: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  wallMs: fc.integer({ min: mark, max: mark + 4 * halfHour }),
  spreadMs: fc.integer({ min: 0, max: 1_200_000 }),
});
const waitsOnceWithin = (slotOf: typeof halfHourSlot) =>
  fc.property(world, ({ share, wallMs, spreadMs }) => {
    const { waitMs } = slotOf(share, wallMs, spreadMs);
    const ends = waitMs === 0 || (wallMs % halfHour) + waitMs <= spreadMs;
    return waitMs >= 0 && ends && slotOf(share, wallMs + waitMs, spreadMs).waitMs === 0;
  });

describe('spreading at full and half hours', () => {
  it('gives each call a second of the time after the mark, and all of a second the same moment', () => {
    expect(halfHourSlot(0, mark, minute)).toEqual({ slot: 0, waitMs: 0 });
    expect(halfHourSlot(0.5, mark, minute)).toEqual({ slot: 30, waitMs: 30_000 });
    expect(halfHourSlot(0.501, mark + 12_345, minute)).toEqual({ slot: 30, waitMs: 17_655 });
    expect(halfHourSlot(0.9999, mark, minute)).toEqual({ slot: 59, waitMs: 59_000 });
  });

  it('holds up nobody whose second has come, nobody between the marks, and nobody where nothing is spread', () => {
    expect(halfHourSlot(0.5, mark + 30_000, minute).waitMs).toBe(0);
    expect(halfHourSlot(0.9, mark - 1, minute).waitMs).toBe(0);
    expect(halfHourSlot(0.9, mark + minute, minute).waitMs).toBe(0);
    expect(halfHourSlot(0.9, mark, 0).waitMs).toBe(0);
  });

  it('never lets anybody wait beyond the spread, and whoever has waited waits no more', () => {
    fc.assert(waitsOnceWithin(halfHourSlot));
  });

  const sinceMs = (wallMs: number) => wallMs % halfHour;
  it.each<[string, typeof halfHourSlot]>([
    [
      'counts from the call instead of the mark',
      (share, wallMs, spreadMs) => {
        const { slot } = halfHourSlot(share, wallMs, spreadMs);
        return { slot, waitMs: slot * 1_000 };
      },
    ],
    [
      'rounds up to the next second',
      (share, wallMs, spreadMs) => {
        if (sinceMs(wallMs) >= spreadMs) return { slot: 0, waitMs: 0 };
        const slot = Math.ceil((share * spreadMs) / 1_000);
        return { slot, waitMs: Math.max(0, slot * 1_000 - sinceMs(wallMs)) };
      },
    ],
    [
      'sends whoever has missed its second to the next mark',
      (share, wallMs, spreadMs) => {
        const { slot, waitMs } = halfHourSlot(share, wallMs, spreadMs);
        const missed = slot * 1_000 < sinceMs(wallMs) && sinceMs(wallMs) < spreadMs;
        return { slot, waitMs: missed ? halfHour - sinceMs(wallMs) + slot * 1_000 : waitMs };
      },
    ],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(waitsOnceWithin(mutant)).failed).toBe(true);
  });
});
