import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { CallWindow } from '../../../src/operators/breaker/call-window.ts';
import { ElasticWindow } from '../../../src/operators/breaker/elastic-window.ts';
import { ExactWindow } from '../../../src/operators/breaker/exact-window.ts';

const windowMs = 60_000;

const step = fc.record({
  dtMs: fc.oneof(
    { weight: 6, arbitrary: fc.double({ min: 0, max: 900, noNaN: true }) },
    { weight: 2, arbitrary: fc.double({ min: 900, max: 90_000, noNaN: true }) },
    { weight: 1, arbitrary: fc.double({ min: -5_000, max: 0, noNaN: true }) },
  ),
  writes: fc.integer({ min: 0, max: 40 }),
  failed: fc.boolean(),
  slow: fc.boolean(),
});

/** At every step the totals are those of a list of all calls, filtered anew: to the nanosecond, not to the bucket. */
const equalsNaiveModel = (make: () => CallWindow) =>
  fc.property(fc.array(step, { minLength: 30, maxLength: 120, size: 'max' }), (steps) => {
    const window = make();
    const all: { atMs: number; failed: boolean; slow: boolean }[] = [];
    let nowMs = 1e9 + 0.000_001;
    let newestMs = -Infinity;
    return steps.every(({ dtMs, writes, failed, slow }) => {
      nowMs += dtMs;
      newestMs = Math.max(newestMs, nowMs);
      for (let i = 0; i < writes; i++) {
        window.record(nowMs, failed, slow);
        all.push({ atMs: newestMs, failed, slow });
      }
      const counted = all.filter(({ atMs }) => atMs > newestMs - windowMs);
      return (
        window.calls(nowMs) === counted.length &&
        window.failures(nowMs) === counted.filter((call) => call.failed).length &&
        window.slow(nowMs) === counted.filter((call) => call.slow).length
      );
    });
  });

const runs = { numRuns: 200, seed: 42 };
const real = (): ExactWindow => new ExactWindow({ windowMs });

/** The real one with some of its answers replaced. */
const altered =
  (change: (window: ExactWindow) => Partial<CallWindow>): (() => CallWindow) =>
  () => {
    const window = real();
    return {
      record: (nowMs, failed, slow) => window.record(nowMs, failed, slow),
      calls: (nowMs) => window.calls(nowMs),
      failures: (nowMs) => window.failures(nowMs),
      slow: (nowMs) => window.slow(nowMs),
      lengthMs: () => window.lengthMs(),
      clear: () => window.clear(),
      ...change(window),
    };
  };

describe('a window that keeps each call', () => {
  it('S000-42: equals a naive model at every step, for any times, also backwards', () => {
    fc.assert(equalsNaiveModel(real), runs);
  });

  it('S000-42: twelve failures leave exactly when they are 60 s old', () => {
    const window = real();
    for (let i = 0; i < 12; i++) window.record(1_000.25, true, false);

    expect(window.failures(61_000.249_9)).toBe(12);
    expect(window.failures(61_000.25)).toBe(0);
  });

  it.each<[string, () => CallWindow]>([
    [
      'rounds to buckets of a second',
      altered((w) => ({ calls: (nowMs) => w.calls(Math.floor(nowMs / 1_000) * 1_000) })),
    ],
    ['reads without moving on', altered((w) => ({ calls: () => w.calls(0) }))],
    ['lets a call count one window and a half', () => new ExactWindow({ windowMs: windowMs * 1.5 })],
    ['forgets all but the last 64', () => new ExactWindow({ windowMs, maxCalls: 64 })],
    ['counts slow calls as failures', altered((w) => ({ record: (at, bad, slow) => w.record(at, bad || slow, slow) }))],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(equalsNaiveModel(mutant), runs).failed).toBe(true);
  });

  it('keeps at most so many calls, the newest', () => {
    const window = new ExactWindow({ windowMs, maxCalls: 100 });
    for (let i = 0; i < 1_000; i++) window.record(i, i < 900, false);

    expect([window.calls(999), window.failures(999)]).toEqual([100, 0]);
  });
});

describe('a window that stretches', () => {
  const make = (): ElasticWindow => new ElasticWindow({ minMs: 10_000, maxMs: 60_000, targetCalls: 20, buckets: 60 });
  /** So many calls a second, for so long. @returns the length at each call */
  const traffic = (window: ElasticWindow, perSecond: number, seconds: number, fromMs = 0): number[] =>
    Array.from({ length: perSecond * seconds }, (_, i) => {
      const atMs = fromMs + (i * 1_000) / perSecond;
      window.record(atMs, false, false);
      return window.lengthMs(atMs);
    });

  it('S000-43: at a call a second it grows until it holds the calls that it wants', () => {
    const window = make();
    const lengths = traffic(window, 1, 300);

    expect(lengths[9]).toBe(10_000);
    expect(lengths[19]).toBe(20_000);
    expect(new Set(lengths.slice(30))).toEqual(new Set([20_000]));
    expect(window.calls(299_000)).toBe(20);
  });

  it('S000-43: at a thousand a second it shrinks to its shortest', () => {
    const window = make();
    traffic(window, 1, 120);
    expect(window.lengthMs(119_000)).toBe(20_000);
    const lengths = traffic(window, 1_000, 30, 120_000);

    expect(lengths.at(-1)).toBe(10_000);
    expect(lengths.findIndex((ms) => ms === 10_000)).toBeLessThan(1_000);
    expect(window.calls(149_999)).toBe(10_000);
  });

  it('S000-43: keeps its bounds whatever comes, and its totals are those of its own length', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 120, size: 'max' }), (steps) => {
        const window = make();
        const all: { tick: number; failed: boolean }[] = [];
        let nowMs = 1e6;
        let newestMs = -Infinity;
        let startedMs: number | undefined;
        return steps.every(({ dtMs, writes, failed, slow }) => {
          nowMs += dtMs;
          newestMs = Math.max(newestMs, nowMs);
          for (let i = 0; i < writes; i++) {
            window.record(nowMs, failed, slow);
            startedMs ??= newestMs;
            all.push({ tick: Math.floor(newestMs / 1_000), failed });
          }
          const lengthMs = window.lengthMs(nowMs);
          const counted = all.filter(({ tick }) => tick > Math.floor(newestMs / 1_000) - lengthMs / 1_000);
          // Shorter than its longest only where it holds what it wants, or has not lived longer.
          const leastMs = window.calls(nowMs) >= 20 ? 10_000 : 60_000;
          const livedMs = newestMs - (startedMs ?? newestMs);
          return (
            lengthMs <= 60_000 &&
            lengthMs >= Math.min(leastMs, livedMs - 1_000) &&
            window.calls(nowMs) === counted.length &&
            window.failures(nowMs) === counted.filter((call) => call.failed).length
          );
        });
      }),
      runs,
    );
  });

  it.each([
    [{ minMs: 1_000 }, 'window.minMs must be from two buckets (2000) to maxMs, got 1000'],
    [{ minMs: 70_000 }, 'window.minMs must be from two buckets (2000) to maxMs, got 70000'],
    [{ targetCalls: 0 }, 'window.targetCalls must be an integer >= 1, got 0'],
  ])('refuses %j', (changed, message) => {
    const options = { minMs: 10_000, maxMs: 60_000, targetCalls: 20, buckets: 60, ...changed };

    expect(() => new ElasticWindow(options)).toThrow(new RangeError(message));
  });
});
