import { describe, expect, it } from 'vitest';

import { SlidingWindow } from '../../../../src/operators/breaker/sliding-window.ts';

const tenSeconds = { windowMs: 10_000, buckets: 10 };

describe('SlidingWindow', () => {
  it('counts calls, failures and slow calls apart', () => {
    const window = new SlidingWindow(tenSeconds);
    window.record(0, true, false);
    window.record(0, false, true);
    window.record(0, true, true);

    expect([window.calls(0), window.failures(0), window.slow(0)]).toEqual([3, 2, 2]);
  });

  it('forgets a call when its bucket is a whole window old', () => {
    const window = new SlidingWindow(tenSeconds);
    window.record(0, true, true);

    expect(window.calls(9_999)).toBe(1);
    expect([window.calls(10_000), window.failures(10_000), window.slow(10_000)]).toEqual([0, 0, 0]);
  });

  it('turns for a reader who comes after a pause', () => {
    const window = new SlidingWindow(tenSeconds);
    window.record(0, true, false);

    expect(window.failures(60_000)).toBe(0);
  });

  it('forgets all skipped buckets at once, not one per call', () => {
    const window = new SlidingWindow(tenSeconds);
    for (let at = 0; at < 10_000; at += 1_000) window.record(at, true, false);
    window.record(3_600_000, false, false);

    expect([window.calls(3_600_000), window.failures(3_600_000)]).toEqual([1, 0]);
  });

  it('S4: writes into the newest bucket while the clock is back, and loses nothing', () => {
    const window = new SlidingWindow(tenSeconds);
    const start = 100_000;
    for (let i = 0; i < 10; i++) window.record(start, false, false);
    for (let i = 0; i < 5; i++) window.record(start - 60_000, true, false);
    window.record(start, false, false);

    expect([window.calls(start), window.failures(start)]).toEqual([16, 5]);
  });

  it('is empty after clear, whatever the time', () => {
    const window = new SlidingWindow(tenSeconds);
    window.record(5_000, true, true);
    window.clear();

    expect([window.calls(5_000), window.failures(5_000), window.slow(5_000)]).toEqual([0, 0, 0]);
  });

  it.each([
    [{ windowMs: 10_000, buckets: 1 }, 'window.buckets must be an integer >= 2, got 1'],
    [{ windowMs: 10_000, buckets: 2.5 }, 'window.buckets must be an integer >= 2, got 2.5'],
    [{ windowMs: 0, buckets: 10 }, 'window.windowMs must be > 0, got 0'],
    [{ windowMs: Infinity, buckets: 10 }, 'window.windowMs must be > 0, got Infinity'],
  ])('refuses %j', (options, message) => {
    expect(() => new SlidingWindow(options)).toThrow(new RangeError(message));
  });
});
