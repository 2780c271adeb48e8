import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { OffsetTracker } from '../../../src/pipeline/offset-tracker.ts';

type Tracker = Pick<OffsetTracker, 'taken' | 'done' | 'watermark' | 'distance' | 'full' | 'doneAbove'>;

/** Gaps between offsets (1: none) and, per record, after how many others it ends. */
const life = fc.record({
  from: fc.integer({ min: 0, max: 2 ** 40 }),
  gaps: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 50, maxLength: 200, size: 'max' }),
  picks: fc.array(fc.nat(), { minLength: 200, maxLength: 400, size: 'max' }),
});

/** Takes and ends records in any order on 16 places and holds a plain set beside it; throws where they differ. */
function live(
  make: (fromOffset: number) => Tracker,
  { from, gaps, picks }: typeof life extends fc.Arbitrary<infer L> ? L : never,
) {
  const tracker = make(from);
  const open: number[] = [];
  const done = new Set<number>();
  let next = from;
  const taken: number[] = [];
  for (const pick of picks) {
    const gap = gaps[taken.length];
    if (gap !== undefined && !tracker.full && (open.length === 0 || pick % 3 > 0)) {
      const offset = next + gap - 1;
      tracker.taken(offset);
      next = offset + 1;
      open.push(offset);
      taken.push(offset);
    } else if (open.length > 0) {
      const [offset] = open.splice(pick % open.length, 1);
      tracker.done(offset ?? -1);
      tracker.done(offset ?? -1);
      done.add(offset ?? -1);
    }
    const first = open.length === 0 ? next : Math.min(...open);
    if (tracker.watermark > first) throw new Error('invariant 27: committed past an unfinished record');
    if (tracker.watermark !== first) throw new Error('the watermark lags behind');
    const above = taken.filter((offset) => done.has(offset) && offset > first);
    if ([...tracker.doneAbove()].join() !== above.join()) throw new Error('done above differs');
    if (tracker.distance !== taken.filter((offset) => offset >= first).length) throw new Error('distance differs');
  }
}

describe('OffsetTracker', () => {
  it('invariant 27: never commits past the first unfinished record, whatever the order, with gaps and wraps', () => {
    fc.assert(fc.property(life, (l) => live((from) => new OffsetTracker(from, 16), l)));
  });

  const mutants: Readonly<Record<string, (from: number) => Tracker>> = {
    'commits up to the newest done record': (from) => {
      const tracker = new OffsetTracker(from, 16);
      let top = from;
      return {
        taken: (offset) => tracker.taken(offset),
        done: (offset) => {
          top = Math.max(top, offset + 1);
          tracker.done(offset);
        },
        doneAbove: () => tracker.doneAbove(),
        get watermark() {
          return top;
        },
        get distance() {
          return tracker.distance;
        },
        get full() {
          return tracker.full;
        },
      };
    },
    'counts ended records instead of looking at offsets': (from) => {
      const tracker = new OffsetTracker(from, 16);
      let ended = 0;
      return {
        taken: (offset) => tracker.taken(offset),
        done: (offset) => {
          ended++;
          tracker.done(offset);
        },
        doneAbove: () => tracker.doneAbove(),
        get watermark() {
          return from + ended;
        },
        get distance() {
          return tracker.distance;
        },
        get full() {
          return tracker.full;
        },
      };
    },
    'forgets what was done above a gap': (from) => {
      const tracker = new OffsetTracker(from, 16);
      return {
        taken: (offset) => tracker.taken(offset),
        done: (offset) => {
          if (offset === tracker.watermark) tracker.done(offset);
        },
        doneAbove: () => tracker.doneAbove(),
        get watermark() {
          return tracker.watermark;
        },
        get distance() {
          return tracker.distance;
        },
        get full() {
          return tracker.full;
        },
      };
    },
  };

  it.each(Object.entries(mutants))('the property catches a tracker that %s', (_what, make) => {
    const { failed, errorInstance } = fc.check(fc.property(life, (l) => live(make, l)));
    expect(failed).toBe(true);
    expect(String(errorInstance)).toMatch(/invariant 27|lags|differs/);
  });

  it('grows up to its capacity while what is done stands in few stretches, and what was done stays done', () => {
    const tracker = new OffsetTracker(0, 65_536);
    for (let offset = 0; offset < 65_536; offset++) {
      tracker.taken(offset);
      if (offset % 1_000 > 0) tracker.done(offset);
    }
    expect(tracker.full).toBe(true);
    expect([...tracker.doneAbove()]).toHaveLength(65_536 - 66);
    expect(() => tracker.taken(65_536)).toThrow(/unfinished/);
    for (let offset = 0; offset < 65_536; offset += 1_000) tracker.done(offset);
    expect([tracker.watermark, tracker.distance]).toEqual([65_536, 0]);
    for (let offset = 65_536; offset < 131_072; offset++) tracker.taken(offset);
    expect([tracker.watermark, tracker.full]).toEqual([65_536, true]);
  });

  it('is full from 8,192 on where what is done would not fit the metadata of a commit', () => {
    const tracker = new OffsetTracker(0);
    for (let offset = 0; !tracker.full; offset++) {
      tracker.taken(offset);
      if (offset % 8 === 7) tracker.done(offset);
    }
    expect(tracker.distance).toBe(8_192);
    for (let offset = 8; offset < 8_192; offset++) if (offset % 16 > 0) tracker.done(offset);
    expect(tracker.full).toBe(false);
  });

  it('refuses what would lose a record: an offset that goes back, one more than it can hold', () => {
    const tracker = new OffsetTracker(10, 2);
    expect(() => tracker.taken(9)).toThrow(RangeError);
    tracker.taken(10);
    tracker.taken(20);
    expect(tracker.full).toBe(true);
    expect(() => tracker.taken(21)).toThrow(/unfinished/);
    tracker.done(10);
    expect([tracker.full, tracker.watermark]).toEqual([false, 20]);
    tracker.done(15);
    expect(tracker.watermark).toBe(20);
    tracker.done(20);
    expect(tracker.watermark).toBe(21);
  });
});
