import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { fingerprint, FingerprintTable } from '../../../../src/sandbox/state/fingerprint-table.ts';

describe('FingerprintTable', () => {
  it('answers like a map, over many growths and overwritten entries', () => {
    const writes = fc.array(fc.tuple(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 1, max: 99 })), {
      minLength: 4_000,
      maxLength: 6_000,
      size: 'max',
    });
    fc.assert(
      fc.property(writes, (all) => {
        const table = new FingerprintTable();
        const model = new Map<number, number>();
        for (const [key, value] of all) {
          table.set(fingerprint(`key-${key}`), value, 0);
          model.set(key, value);
        }
        for (let key = 0; key <= 5_000; key++) {
          if (table.get(fingerprint(`key-${key}`))?.value !== model.get(key)) return false;
        }
        return table.size === model.size;
      }),
      { numRuns: 10, seed: 7 },
    );
  });

  it('stays small when entries expire: a million short-lived keys do not pile up', () => {
    const table = new FingerprintTable(1_000);
    for (let i = 0; i < 200_000; i++) table.set({ high: i, low: i ^ 0x5555 }, 1, i);

    expect(table.size).toBeLessThan(10_000);
    expect(table.get({ high: 199_999, low: 199_999 ^ 0x5555 })).toEqual({ value: 1, atMs: 199_999 });
  });

  it('tells a hundred thousand similar keys apart', () => {
    const seen = new Set<string>();
    for (let i = 0; i < 100_000; i++) {
      const { high, low } = fingerprint(`larkspur-${i}`);
      seen.add(`${high}/${low}`);
    }
    expect(seen.size).toBe(100_000);
  });
});
