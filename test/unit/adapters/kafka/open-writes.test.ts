import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { OpenWrites } from '../../../../src/adapters/kafka/open-writes.ts';

describe('OpenWrites', () => {
  it('tells at once when nothing is open', () => {
    let told = 0;
    new OpenWrites().whenDone(() => (told += 1));
    expect(told).toBe(1);
  });

  it('does not wait for writes that begin later', () => {
    const writes = new OpenWrites();
    const first = writes.begin();
    let told = 0;
    writes.whenDone(() => (told += 1));
    writes.begin();
    expect(told).toBe(0);
    writes.end(first);
    expect(told).toBe(1);
  });

  it('tells nobody who no longer wants to know', () => {
    const writes = new OpenWrites();
    const first = writes.begin();
    let told = 0;
    writes.whenDone(() => (told += 1))();
    writes.end(first);
    expect(told).toBe(0);
  });

  it('tells exactly when all earlier writes have ended, in whatever order they end', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 99 }), { minLength: 1, maxLength: 60, size: 'max' }), (steps) => {
        const writes = new OpenWrites();
        let open: { id: number; end: () => void }[] = [];
        const asked: { wanted: Set<number>; told: boolean }[] = [];
        for (const [id, step] of steps.entries()) {
          const victim = open[step % Math.max(1, open.length)];
          if (step < 40 || victim === undefined) {
            const write = writes.begin();
            open.push({ id, end: () => writes.end(write) });
          } else if (step < 55) {
            const question = { wanted: new Set(open.map((one) => one.id)), told: false };
            asked.push(question);
            writes.whenDone(() => (question.told = true));
          } else {
            victim.end();
            open = open.filter((one) => one !== victim);
          }
          const isOpen = new Set(open.map((one) => one.id));
          if (asked.some(({ wanted, told }) => told === [...wanted].some((one) => isOpen.has(one)))) return false;
          if (writes.open !== open.length) return false;
        }
        return true;
      }),
      { numRuns: 2_000, seed: 5 },
    );
  });
});
