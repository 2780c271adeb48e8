import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MemoryStore } from '../../../../src/adapters/embedded/memory-store.ts';
import type { BlobLog } from '../../../../src/adapters/embedded/store.ts';

const blob = (offset: number): Buffer => Buffer.from(`blob ${offset}`);
const offsets = (log: BlobLog, from = 0): number[] => Array.from(log.from(from), ([offset]) => offset);

function logOf(...written: number[]): BlobLog {
  const log = new MemoryStore('c').log('calls', 0);
  for (const offset of written) log.put(offset, blob(offset));
  return log;
}

describe('the log of a memory store', () => {
  it('has no first and no last while it is empty', () => {
    const log = logOf();
    expect([log.first(), log.last(), offsets(log)]).toEqual([undefined, undefined, []]);
  });

  it('begins behind what was removed from its front', () => {
    const log = logOf(5, 6, 7, 8);
    log.remove(5);
    log.remove(6);
    expect([log.first(), log.last(), offsets(log), offsets(log, 8)]).toEqual([7, 8, [7, 8], [8]]);
  });

  it.each([9, 2])('begins and ends with offset %i when that is put after all was removed', (again) => {
    const log = logOf(5, 6);
    log.remove(5);
    log.remove(6);
    expect([log.first(), log.last(), offsets(log)]).toEqual([undefined, undefined, []]);
    log.put(again, blob(again));
    expect([log.first(), log.last(), offsets(log)]).toEqual([again, again, [again]]);
    log.put(again + 1, blob(again + 1));
    expect([...log.from(0)]).toEqual([again, again + 1].map((offset) => [offset, blob(offset)]));
  });

  it('tells what a list would, however appends, removals from the front and looks follow each other', () => {
    const step = fc.oneof(fc.constant('look' as const), fc.constant('put' as const), fc.nat(4));
    fc.assert(
      fc.property(fc.nat(50), fc.array(step, { size: 'max', maxLength: 60 }), (start, steps) => {
        const log = logOf();
        const list: number[] = [];
        const told: unknown[] = [];
        const right: unknown[] = [];
        let next = start;
        for (const one of [...steps, 'look' as const]) {
          if (one === 'put') {
            log.put(next, blob(next));
            list.push(next++);
          } else if (one === 'look') {
            told.push([log.first(), log.last(), offsets(log)]);
            right.push([list[0], list.at(-1), [...list]]);
          } else for (const offset of list.splice(0, one)) log.remove(offset);
        }
        expect(told).toEqual(right);
        expect(offsets(log, start + 3)).toEqual(list.filter((offset) => offset >= start + 3));
      }),
    );
  });
});
