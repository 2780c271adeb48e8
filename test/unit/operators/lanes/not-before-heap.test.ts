import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type HeapEntry, NotBeforeHeap } from '../../../../src/operators/lanes/not-before-heap.ts';

describe('NotBeforeHeap', () => {
  it('gives nothing out before its time', () => {
    const heap = new NotBeforeHeap<string>();
    heap.add(100, 'later');
    const sooner = heap.add(50, 'sooner');
    expect(heap.popDue(49.9)).toBeUndefined();
    expect(heap.earliestMs).toBe(50);
    heap.cancel(sooner);
    heap.cancel(sooner);
    expect(heap.earliestMs).toBe(100);
    expect(heap.popDue(100)).toBe('later');
    expect([heap.popDue(Infinity), heap.earliestMs, heap.size]).toEqual([undefined, undefined, 0]);
  });

  it('keeps to a sorted list, equal times in order of arrival', () => {
    fc.assert(
      isSorted(() => new NotBeforeHeap()),
      runs,
    );
  });

  it.each<[string, () => NotBeforeHeap<number>]>([
    [
      'leaves cancelled ones in',
      () =>
        new (class extends NotBeforeHeap<number> {
          override cancel(entry: HeapEntry<number>): void {
            if (entry.atMs === this.earliestMs) super.cancel(entry);
          }
        })(),
    ],
    [
      'gives out one millisecond early',
      () =>
        new (class extends NotBeforeHeap<number> {
          override popDue(nowMs: number): number | undefined {
            return super.popDue(nowMs + 1);
          }
        })(),
    ],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(isSorted(mutant), runs).failed).toBe(true);
  });
});

const runs = { numRuns: 500, seed: 7 };

function isSorted(make: () => NotBeforeHeap<number>) {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('add'), n: fc.nat(30) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel'), n: fc.nat(60) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('pop'), n: fc.nat(30) }) },
  );
  return fc.property(fc.array(step, { minLength: 60, maxLength: 300, size: 'max' }), (steps) => {
    const heap = make();
    const entries: HeapEntry<number>[] = [];
    let model: HeapEntry<number>[] = [];
    for (const [i, { do: what, n }] of steps.entries()) {
      if (what === 'add') {
        const entry = heap.add(n, i);
        entries.push(entry);
        // Behind all with the same time: a stable order.
        const at = model.findIndex((other) => other.atMs > n);
        model.splice(at < 0 ? model.length : at, 0, entry);
      } else if (what === 'cancel') {
        const entry = entries[n % Math.max(1, entries.length)];
        if (entry === undefined) continue;
        heap.cancel(entry);
        model = model.filter((other) => other !== entry);
      } else {
        const due = (model[0]?.atMs ?? Infinity) <= n ? model.shift()?.value : undefined;
        if (heap.popDue(n) !== due) return false;
      }
      if (heap.size !== model.length || heap.earliestMs !== model[0]?.atMs) return false;
    }
    return true;
  });
}
