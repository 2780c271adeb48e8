import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { CoolDowns, spreadWaitMs } from '../../../../src/operators/index.ts';

type Downs = Pick<CoolDowns, 'hold' | 'untilMs'>;

describe('CoolDowns', () => {
  it('S13: a shorter reset changes nothing, other keys do not rest', () => {
    const downs = new CoolDowns();
    const half = { next: () => 0.5 };
    downs.hold('messages', 0 + spreadWaitMs(7_000, half));
    downs.hold('messages', 3_000 + spreadWaitMs(2_000, half));

    expect(downs.untilMs('messages', 3_000)).toBe(7_250);
    expect(downs.untilMs('contacts', 3_000)).toBe(0);
  });

  it('is over at its time', () => {
    const downs = new CoolDowns();
    downs.hold('a', 100);

    expect([downs.untilMs('a', 99), downs.untilMs('a', 100)]).toEqual([100, 0]);
  });

  it('makes room for new keys from those that are over', () => {
    const downs = new CoolDowns(100);
    for (let i = 0; i < 100_000; i++) {
      downs.untilMs(`key ${i}`, i);
      downs.hold(`key ${i}`, i + 50);
    }

    expect(downs.size).toBeLessThanOrEqual(100);
  });

  it('never drops an active one, however many there are', () => {
    const downs = new CoolDowns(10);
    for (let i = 0; i < 1_000; i++) {
      downs.untilMs('any', i);
      downs.hold(`key ${i}`, 1_000_000);
    }

    expect(downs.active(999)).toBe(1_000);
  });
});

describe('CoolDowns, invariant 19', () => {
  const onlyGrows = (make: () => Downs) =>
    fc.property(
      fc.array(fc.record({ key: fc.nat({ max: 5 }), dtMs: fc.nat({ max: 300 }), forMs: fc.nat({ max: 3_000 }) }), {
        minLength: 50,
        maxLength: 300,
        size: 'max',
      }),
      (steps) => {
        const downs = make();
        const model = new Map<string, number>();
        let nowMs = 0;
        return steps.every(({ key: n, dtMs, forMs }) => {
          const key = `key ${n}`;
          nowMs += dtMs;
          downs.hold(key, nowMs + forMs);
          model.set(key, Math.max(model.get(key) ?? 0, nowMs + forMs));
          return [...model].every(([k, untilMs]) => downs.untilMs(k, nowMs) === (untilMs > nowMs ? untilMs : 0));
        });
      },
    );

  it('grows by the maximum only, for every key, also beyond its capacity', () => {
    fc.assert(onlyGrows(() => new CoolDowns(2)));
  });

  it.each<[string, () => Downs]>([
    [
      'lets the last word win',
      () => {
        const until = new Map<string, number>();
        return {
          hold: (key, untilMs) => void until.set(key, untilMs),
          untilMs: (key, nowMs) => ((until.get(key) ?? 0) > nowMs ? (until.get(key) ?? 0) : 0),
        };
      },
    ],
    [
      'drops the oldest key when it is full',
      () => {
        const downs = new CoolDowns();
        const known = new Set<string>();
        return {
          hold: (key, untilMs) => {
            known.add(key);
            downs.hold(key, untilMs);
            const [first] = known;
            if (known.size > 2 && first !== undefined) known.delete(first);
          },
          untilMs: (key, nowMs) => (known.has(key) ? downs.untilMs(key, nowMs) : 0),
        };
      },
    ],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(onlyGrows(mutant)).failed).toBe(true);
  });
});
