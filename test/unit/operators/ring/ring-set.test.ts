import { describe, expect, it } from 'vitest';

import { RingSet, type RingSetOptions } from '../../../../src/operators/ring/ring-set.ts';

interface Item {
  readonly of: string;
  readonly n: number;
  readonly bytes?: number;
}

function setOf(partitions: readonly string[], options: Partial<RingSetOptions<string, Item>> = {}) {
  const calls: string[] = [];
  const rings = new RingSet<string, Item>({
    sizeOf: (item) => item.bytes ?? 1,
    pause: (partition) => calls.push(`pause ${partition}`),
    resume: (partition) => calls.push(`resume ${partition}`),
    ...options,
  });
  for (const partition of partitions) rings.open(partition);
  const fill = (of: string, count: number, bytes = 1) => {
    for (let n = 0; n < count; n++) rings.push(of, { of, n, bytes });
  };
  return { rings, calls, fill };
}

function drain(rings: RingSet<string, Item>, count = Infinity): Item[] {
  const out: Item[] = [];
  while (out.length < count) {
    const item = rings.shift();
    if (item === undefined) break;
    out.push(item);
  }
  return out;
}

describe('RingSet', () => {
  it('S000-20: a full ring pauses its partition, loses nothing and resumes it at the low mark', () => {
    const { rings, calls, fill } = setOf(['a', 'b']);
    fill('a', 511);
    expect(calls).toEqual([]);
    fill('a', 64);
    expect(calls).toEqual(['pause a']);
    expect(drain(rings, 575 - 129)).toHaveLength(446);
    expect(calls).toEqual(['pause a']);
    rings.shift();
    expect(calls).toEqual(['pause a', 'resume a']);
    expect(drain(rings)).toHaveLength(128);
  });

  it('serves partitions in turn and each of them in order', () => {
    const { rings, fill } = setOf(['a', 'b', 'c']);
    fill('a', 3);
    fill('b', 1);
    fill('c', 2);
    expect(drain(rings).map(({ of, n }) => of + String(n))).toEqual(['a0', 'b0', 'c0', 'a1', 'c1', 'a2']);
    expect(rings.size).toBe(0);
    expect(rings.bytes).toBe(0);
  });

  it('returns what a dropped partition held and never delivers it', () => {
    const { rings, calls, fill } = setOf(['a', 'b']);
    fill('a', 600);
    fill('b', 1);
    rings.hold('b', 'commit');
    calls.length = 0;
    expect(rings.drop('a').map(({ n }) => n)).toEqual(Array.from({ length: 600 }, (_, n) => n));
    expect(rings.drop('a')).toEqual([]);
    expect(drain(rings).map(({ of }) => of)).toEqual(['b']);
    rings.hold('a', 'commit');
    rings.release('a', 'commit');
    expect(calls).toEqual([]);
  });

  it('resumes a partition only when no reason is left', () => {
    const { rings, calls, fill } = setOf(['a']);
    rings.hold('a', 'commit');
    rings.hold('a', 'commit');
    fill('a', 512);
    rings.hold('a', 'brake');
    expect([...rings.stats()]).toEqual([
      { partition: 'a', items: 512, bytes: 512, paused: true, reasons: ['watermark', 'commit', 'brake'] },
    ]);
    rings.release('a', 'commit');
    drain(rings);
    expect(calls).toEqual(['pause a']);
    rings.release('a', 'never held');
    rings.release('a', 'brake');
    expect(calls).toEqual(['pause a', 'resume a']);
  });

  it('pauses the largest partition first when all of them together hold too much', () => {
    const { rings, calls, fill } = setOf(['a', 'b', 'c'], { totalHighBytes: 100, totalLowBytes: 40 });
    fill('b', 5, 10);
    fill('a', 3, 10);
    fill('c', 1, 19);
    expect(calls).toEqual([]);
    fill('c', 1, 1);
    expect(calls).toEqual(['pause b']);
    fill('c', 1, 1);
    expect(calls).toEqual(['pause b', 'pause a']);
    drain(rings, 6);
    expect(rings.bytes).toBe(41);
    expect(calls).toHaveLength(2);
    rings.shift();
    expect(calls).toHaveLength(4);
    expect(new Set(calls.slice(2))).toEqual(new Set(['resume a', 'resume b']));
  });

  it('ends the pauses for the total when the partition that caused them is dropped', () => {
    const { rings, calls, fill } = setOf(['a', 'b'], { totalHighBytes: 100 });
    fill('a', 1, 90);
    fill('b', 1, 9);
    fill('b', 1, 1);
    fill('b', 1, 1);
    expect(calls).toEqual(['pause a', 'pause b']);
    rings.drop('a');
    expect(calls).toEqual(['pause a', 'pause b', 'resume b']);
  });

  it('lets the source push from inside resume', () => {
    let n = 0;
    const { rings } = setOf(['a'], {
      watermarks: { highItems: 4, lowItems: 1 },
      resume: (partition) => {
        for (let i = 0; i < 4; i++) rings.push(partition, { of: partition, n: n++ });
      },
    });
    for (; n < 4;) rings.push('a', { of: 'a', n: n++ });
    const out = drain(rings, 40).map((item) => item.n);
    expect(out).toEqual(Array.from({ length: 40 }, (_, i) => i));
  });

  it('errors when a source goes on long after it was paused, or pushes to a partition it does not have', () => {
    const { fill } = setOf(['a']);
    fill('a', 1024);
    expect(() => {
      fill('a', 1);
    }).toThrow(expect.objectContaining({ code: 'internal' }) as Error);
    expect(() => {
      fill('b', 1);
    }).toThrow(expect.objectContaining({ code: 'internal' }) as Error);
  });

  it('tells apart two assignments of one partition', () => {
    const rings = new RingSet<{ epoch: number }, number>({ sizeOf: () => 1, pause: () => 0, resume: () => 0 });
    const [first, second] = [{ epoch: 1 }, { epoch: 2 }];
    rings.open(first);
    rings.push(first, 1);
    rings.open(second);
    rings.open(second);
    rings.push(second, 2);
    expect(rings.drop(first)).toEqual([1]);
    expect(rings.shift()).toBe(2);
  });

  it.each<[Partial<RingSetOptions<string, Item>>, RegExp]>([
    [{ capacity: 512 }, /ring.capacity/],
    [{ capacity: 0 }, /ring.capacity/],
    [{ totalHighBytes: 0 }, /ring.totalHighBytes/],
    [{ totalHighBytes: 10, totalLowBytes: 10 }, /ring.totalLowBytes/],
    [{ watermarks: { lowItems: 600 } }, /watermarks.lowItems/],
  ])('refuses %o', (options, message) => {
    expect(() => setOf([], options)).toThrow(message);
  });
});
