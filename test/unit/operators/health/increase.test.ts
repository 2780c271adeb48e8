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

  type Grown = Pick<Increase, 'add' | 'value'>;
  const holds = (made: () => Grown) => {
    const step = fc.tuple(fc.integer({ min: 1, max: 90_000 }), fc.nat(1_000));
    const steps = fc.array(step, { minLength: 1, maxLength: 300, size: 'max' });
    return fc.property(steps, (fed) => {
      const increase = made();
      const seen: [number, number][] = [];
      let [atMs, total] = [0, 0];
      for (const [ms, more] of fed) {
        [atMs, total] = [atMs + ms, total + more];
        increase.add(atMs, total);
        seen.push([atMs, total]);
        const base = seen.findLast(([at]) => at <= atMs - 60_000) ?? seen[0]!;
        if (increase.value !== total - base[1]) return false;
      }
      return true;
    });
  };

  it('is the difference to the newest total at or before the beginning of the window', () => {
    fc.assert(holds(() => new Increase(60_000)));
  });

  /** Counts from the oldest total inside the window. */
  class LosesTheBeginning implements Grown {
    readonly #within: [number, number][] = [];

    add(nowMs: number, total: number): void {
      this.#within.push([nowMs, total]);
      while (this.#within[0]![0] < nowMs - 60_000) this.#within.shift();
    }

    get value(): number {
      return this.#within.at(-1)![1] - this.#within[0]![1];
    }
  }

  it.each<readonly [string, () => Grown]>([
    ['whose window is a second short', () => new Increase(59_000)],
    ['whose window is a second long', () => new Increase(61_000)],
    ['that never forgets', () => new Increase(Infinity)],
    ['that counts from inside the window', () => new LosesTheBeginning()],
  ])('the property catches one %s', (_name, made) => {
    expect(fc.check(holds(made), { seed: 7, numRuns: 1_000 }).failed).toBe(true);
  });
});
