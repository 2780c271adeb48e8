import { describe, expect, it } from 'vitest';

import { refreshAtMs, refreshPauseMs, usable } from '../../../../src/operators/index.ts';

const minute = 60_000;
const life = (minutes: number) => ({ obtainedAtMs: 1_000, expiresAtMs: 1_000 + minutes * minute });
const leftAtRefresh = (minutes: number, chance: number): number => {
  const token = life(minutes);
  return (token.expiresAtMs - refreshAtMs(token, { next: () => chance })) / minute;
};

describe('refreshAtMs', () => {
  it('asks for the next tenant token when 29 min - U(0, 4 min) of its two hours remain', () => {
    expect(leftAtRefresh(120, 0)).toBe(29);
    expect(leftAtRefresh(120, 0.5)).toBe(27);
    expect(leftAtRefresh(120, 0.999999)).toBeCloseTo(25, 3);
  });

  it('asks in the last quarter of a shorter life, not over and over from its start', () => {
    expect(leftAtRefresh(40, 0)).toBe(10);
    expect(leftAtRefresh(2, 0)).toBe(0.5);
    expect(leftAtRefresh(2, 0.999999)).toBeGreaterThan(0.4);
  });

  it('does not ask before a token without any life has ended', () => {
    expect(refreshAtMs({ obtainedAtMs: 5, expiresAtMs: 5 }, { next: () => 0 })).toBe(5);
  });
});

describe('usable', () => {
  it.each([
    [120, 3.001, true],
    [120, 3, false],
    [10, 1.001, true],
    [10, 1, false],
    [0, 0, false],
  ])('a token of %d min with %d min left: %s', (minutes, leftMinutes, expected) => {
    const token = life(minutes);

    expect(usable(token, token.expiresAtMs - leftMinutes * minute)).toBe(expected);
  });

  it('still serves while the next one is being fetched', () => {
    for (const minutes of [1, 5, 30, 60, 120, 1_440]) {
      const token = life(minutes);
      for (const chance of [0, 0.5, 0.999999]) {
        expect(usable(token, refreshAtMs(token, { next: () => chance }))).toBe(true);
      }
    }
  });
});

describe('refreshPauseMs', () => {
  it('doubles from 1 s to 30 s, however long it goes on', () => {
    expect([1, 2, 3, 4, 5, 6, 2_000].map(refreshPauseMs)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });
});
