import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { QuotaBook } from '../../../../src/operators/limit/quota-book.ts';
import { bucket } from '../../../support/quota/quota-bench.ts';
import { seededRandom } from '../../../support/virtual-time.ts';

interface Upstream {
  readonly configured: number;
  /** What it lets through in a second. */
  readonly real: number;
  /** Share of its refusals for which no limit is to blame. */
  readonly strays: number;
  /** Starts that come each second. */
  readonly demand: number;
  readonly seed: number;
}

/** Plays seconds of a bucket: bursts as large as the book grants, refusals a little later. Tells each second's share and refusals. */
function play({ configured, real, strays, demand, seed }: Upstream, seconds: number) {
  const book = new QuotaBook({ stretchMs: 0 });
  const limit = bucket('b', [configured, 1_000]);
  const random = seededRandom(seed);
  let nowMs = 1_000_000;
  let waiting = 0;
  return Array.from({ length: seconds }, () => {
    waiting = Math.min(waiting + demand, 10 * configured);
    const { granted, buckets } = book.take([limit], waiting, nowMs);
    let refused = 0;
    for (let n = 0; n < granted; n++) if (n >= real || random.next() < strays) refused++;
    waiting -= granted - refused;
    for (let n = 0; n < refused; n++) book.refused({ limit, coolMs: 950, agoMs: 50 }, nowMs + 50);
    nowMs += 1_000;
    return { factor: buckets[0]?.factor ?? 0, granted, refused };
  });
}

describe('what a bucket learns from refusals', () => {
  it('finds any real limit down to a tenth within five bursts, and then only tries now and then', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 20, max: 1_000 }),
        fc.double({ min: 0.1, max: 1, noNaN: true }),
        fc.nat(),
        (configured, share, seed) => {
          const real = Math.ceil(configured * share);
          const seen = play({ configured, real, strays: 0, demand: configured * 2, seed }, 300);
          const after = seen.slice(10);
          const used = after.reduce((sum, { granted, refused }) => sum + granted - refused, 0);
          expect(used / (after.length * real)).toBeGreaterThan(0.95);
          expect(after.filter(({ refused }) => refused > 0).length).toBeLessThanOrEqual(300 / 15);
        },
      ),
      { numRuns: 200, seed: 5 },
    );
  });

  it('is not made slow by strays, however many come: they say nothing of a limit', () => {
    const all: number[] = [];
    fc.assert(
      fc.property(
        fc.integer({ min: 20, max: 1_000 }),
        fc.double({ min: 0, max: 0.1, noNaN: true }),
        fc.double({ min: 0.1, max: 2, noNaN: true }),
        fc.nat(),
        (configured, strays, demand, seed) => {
          const upstream = { configured, real: configured, strays, demand: Math.ceil(configured * demand), seed };
          const seen = play(upstream, 600);
          const needed = Math.min(1, upstream.demand / configured);
          const served = seen.reduce((sum, { factor }) => sum + Math.min(1, factor / needed), 0) / seen.length;
          all.push(served);
          expect(served).toBeGreaterThan(0.6);
        },
      ),
      { numRuns: 50, seed: 6 },
    );
    expect(all.reduce((sum, served) => sum + served, 0) / all.length).toBeGreaterThan(0.95);
  });

  it('has the whole limit again within a minute, if half of it or more was left for a minute', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.5, max: 0.9, noNaN: true }), fc.integer({ min: 5, max: 60 }), (share, seconds) => {
        const book = new QuotaBook({ stretchMs: 0 });
        const limit = bucket('b', [100, 1_000]);
        let nowMs = 1_000_000;
        const burst = (real: number): number => {
          const { granted, buckets } = book.take([limit], 100, nowMs);
          for (let n = real; n < granted; n++) book.refused({ limit, coolMs: 950, agoMs: 50 }, nowMs + 50);
          nowMs += 1_000;
          return buckets[0]?.factor ?? 0;
        };
        for (let n = 0; n < seconds; n++) burst(Math.ceil(100 * share));
        const back = Array.from({ length: 62 }, () => burst(100));
        expect(back.at(-1)).toBe(1);
      }),
      { numRuns: 100, seed: 7 },
    );
  });
});
