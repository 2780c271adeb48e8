import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { NearCache } from '../../../../src/operators/cache/near-cache.ts';

const roomy = { maxEntries: 100, maxBytes: 1_000_000 };
const near = (bounds = roomy): NearCache<string> => new NearCache(bounds, (text) => text.length);
const life = { freshMs: 50, lifeMs: 1_000 };

describe('what a process keeps of a larger store', () => {
  it('is new until its time, serves on after it, and is gone when its life is over', () => {
    const cache = near();
    cache.put('a', 'one', life, 0);

    expect(cache.get('a', 49)).toMatchObject({ value: 'one', freshUntilMs: 50 });
    expect(cache.get('a', 999)?.value).toBe('one');
    expect(cache.get('a', 1_000)).toBeUndefined();
    expect(cache.size).toBe(0);
  });

  it('is also that there is nothing, which is not the same as not to know', () => {
    const cache = near();
    cache.put('a', undefined, life, 0);

    expect([cache.get('a', 1), cache.get('b', 1)]).toEqual([
      { value: undefined, freshUntilMs: 50, untilMs: 1_000 },
      undefined,
    ]);
  });

  it('counts as new once more when it is refreshed, and lives no longer for that', () => {
    const cache = near();
    cache.put('a', 'one', life, 0);
    cache.refresh('a', 50, 900);
    cache.refresh('b', 50, 900);

    expect(cache.get('a', 949)).toMatchObject({ freshUntilMs: 950, untilMs: 1_000 });
    expect([cache.get('a', 1_000), cache.get('b', 901)]).toEqual([undefined, undefined]);
  });

  const bounds = { maxEntries: 20, maxBytes: 8_000 };
  const holds = (made: () => NearCache<string>) => {
    // Small ones, so that the entries are what it has too many of, and large ones, so that it is the bytes.
    const length = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 2_000 }));
    const step = fc.tuple(fc.integer({ min: 0, max: 60 }), length);
    const same = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 20 }));
    const lists = [step, same].map((one) => fc.array(one, { minLength: 50, maxLength: 300, size: 'max' }));
    return fc.property(fc.oneof(...lists), (steps) => {
      const cache = made();
      for (const [key, length] of steps) {
        cache.put(`key ${key}`, 'x'.repeat(length), { freshMs: 1, lifeMs: Infinity }, 0);
        const kept = Array.from({ length: 61 }, (_, n) => cache.get(`key ${n}`, 0)?.value).filter(
          (value) => value !== undefined,
        );
        if (cache.size > bounds.maxEntries) throw new Error('too many entries');
        if (kept.reduce((sum, { length: bytes }) => sum + bytes, 0) > bounds.maxBytes)
          throw new Error('too many bytes');
        if (cache.get(`key ${key}`, 0)?.value?.length !== length) throw new Error('the newest is gone');
      }
    });
  };

  it('never takes more entries or bytes than it may, and the newest is among them', () => {
    fc.assert(
      holds(() => near(bounds)),
      { numRuns: 50 },
    );
  });

  /** Takes nothing new once it is full. */
  class KeepsTheOldest extends NearCache<string> {
    override put(...args: Parameters<NearCache<string>['put']>): void {
      if (this.size < bounds.maxEntries || this.get(args[0], 0) !== undefined) super.put(...args);
    }
  }

  it.each<readonly [string, () => NearCache<string>]>([
    ['that takes an entry too many', () => near({ ...bounds, maxEntries: 21 })],
    ['that weighs nothing', () => new NearCache(bounds, () => 0)],
    ['that keeps the oldest', () => new KeepsTheOldest(bounds, (text) => text.length)],
  ])('the property catches one %s', (_name, made) => {
    expect(fc.check(holds(made), { seed: 7 }).failed).toBe(true);
  });
});
