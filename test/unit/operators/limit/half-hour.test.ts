import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { halfHourSlot } from '../../../../src/operators/limit/half-hour.ts';

const minute = 60_000;
const halfHour = 30 * minute;
const mark = Date.UTC(2026, 10, 30, 8, 30);

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
    const world = fc.record({
      share: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      wallMs: fc.integer({ min: mark, max: mark + 4 * halfHour }),
      spreadMs: fc.integer({ min: 0, max: 1_200_000 }),
    });
    fc.assert(
      fc.property(world, ({ share, wallMs, spreadMs }) => {
        const { waitMs } = halfHourSlot(share, wallMs, spreadMs);
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs === 0 || (wallMs % halfHour) + waitMs <= spreadMs).toBe(true);
        expect(halfHourSlot(share, wallMs + waitMs, spreadMs).waitMs).toBe(0);
      }),
    );
  });
});
