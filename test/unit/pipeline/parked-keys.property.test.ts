import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ParkedKeys } from '../../../src/pipeline/parked-keys.ts';
import type { ParkedCall } from '../../../src/ports/parked-register.ts';

type Step =
  | { readonly do: 'add'; readonly key: string; readonly offset: number; readonly dueMs: number }
  | { readonly do: 'remove'; readonly offset: number }
  | { readonly do: 'ask'; readonly key: string; readonly offset: number };

const key = fc.constantFrom('a', 'b', 'c');
const offset = fc.nat({ max: 40 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key, offset, dueMs: fc.nat({ max: 9 }) }),
  fc.record({ do: fc.constant('remove' as const), offset }),
  fc.record({ do: fc.constant('ask' as const), key, offset }),
);

/** The same with a list that is looked through. */
class Model {
  #calls: ParkedCall[] = [];
  add(call: ParkedCall): void {
    this.remove(call.offset);
    this.#calls.push(call);
  }
  remove(offset: number): void {
    this.#calls = this.#calls.filter((call) => call.offset !== offset);
  }
  ahead(key: string, offset: number): ParkedCall | undefined {
    const before = this.#calls.filter((call) => call.key === key && call.offset < offset);
    return before.sort((a, b) => a.offset - b.offset)[0];
  }
  get size(): number {
    return new Set(this.#calls.map(({ key }) => key)).size;
  }
}

const agrees = (create: () => ParkedKeys) =>
  fc.property(fc.array(step, { minLength: 20, maxLength: 200, size: 'max' }), (steps) => {
    const keys = create();
    const model = new Model();
    for (const one of steps) {
      if (one.do === 'remove') {
        keys.remove(one.offset);
        model.remove(one.offset);
      } else if (one.do === 'add') {
        const call = { key: one.key, offset: one.offset, dueMs: one.dueMs };
        keys.add(call);
        model.add(call);
      } else if (JSON.stringify(keys.ahead(one.key, one.offset)) !== JSON.stringify(model.ahead(one.key, one.offset))) {
        return false;
      }
      if (keys.size !== model.size) return false;
    }
    return true;
  });
const bound = (real: ParkedKeys) => ({
  add: real.add.bind(real),
  ahead: real.ahead.bind(real),
  remove: real.remove.bind(real),
});

const shifted = (real: ParkedKeys): ParkedKeys['ahead'] => {
  const { ahead } = bound(real);
  return (key, offset) => ahead(key, offset + 1);
};

const runs = { numRuns: 500, seed: 11 };

describe('ParkedKeys', () => {
  it('knows the first call of each key, whatever comes and goes in whatever order', () => {
    fc.assert(
      agrees(() => new ParkedKeys()),
      runs,
    );
  });

  const changed = (change: (real: ParkedKeys) => Partial<ParkedKeys>): ParkedKeys => {
    const real = new ParkedKeys();
    const { add, ahead, remove } = { ...bound(real), ...change(real) };
    return Object.assign(real, { add, ahead, remove });
  };
  it.each([
    ['keeps what has ended', () => changed(() => ({ remove: () => undefined }))],
    ['lets a call stand behind itself', () => changed((real) => ({ ahead: shifted(real) }))],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(agrees(mutant), runs).failed).toBe(true);
  });

  it('holds a hundred thousand calls of one key, and lets them go in their order', () => {
    const keys = new ParkedKeys();
    const count = 100_000;
    for (let offset = 0; offset < count; offset++) keys.add({ key: 'k', offset, dueMs: 0 });
    for (let offset = 0; offset < count; offset++) {
      const ahead = keys.ahead('k', count);
      if (ahead !== undefined) keys.remove(ahead.offset);
      if (ahead?.offset !== offset) break;
    }
    expect(keys.size).toBe(0);
  });
});
