import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Increase } from '../../../../src/operators/health/increase.ts';

describe('the growth of a counter', () => {
  it('is nothing before a second look, and then what came within the window', () => {
    const increase = new Increase(60_000);
    increase.add(0, 10);
    expect(increase.value).toBe(0);
    increase.add(30_000, 15);
    expect(increase.value).toBe(5);
    increase.add(60_000, 16);
    expect(increase.value).toBe(6);
    increase.add(61_000, 16);
    expect(increase.value).toBe(6);
    increase.add(90_000, 16);
    expect(increase.value).toBe(1);
  });

  it('begins anew when the counter does', () => {
    const increase = new Increase(60_000);
    increase.add(0, 10);
    increase.add(1_000, 3);
    expect(increase.value).toBe(0);
    increase.add(2_000, 5);
    expect(increase.value).toBe(2);
  });

  it('is the difference to the newest total at or before the beginning of the window', () => {
    const step = fc.tuple(fc.integer({ min: 1, max: 90_000 }), fc.nat(1_000));
    const steps = fc.array(step, { minLength: 1, maxLength: 300, size: 'max' });
    fc.assert(
      fc.property(steps, (fed) => {
        const increase = new Increase(60_000);
        const seen: [number, number][] = [];
        let [atMs, total] = [0, 0];
        for (const [ms, more] of fed) {
          [atMs, total] = [atMs + ms, total + more];
          increase.add(atMs, total);
          seen.push([atMs, total]);
          const base = seen.findLast(([at]) => at <= atMs - 60_000) ?? seen[0]!;
          expect(increase.value).toBe(total - base[1]);
        }
      }),
    );
  });
});
