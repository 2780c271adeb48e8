import { describe, expect, it } from 'vitest';

import { ExactLog } from '../../../../src/operators/index.ts';

const twoPerSecond = [{ limit: 2, windowMs: 1_000 }];

describe('ExactLog', () => {
  it('grants up to its limit, then says exactly how long to wait', () => {
    const log = new ExactLog(twoPerSecond);
    expect([log.take(0), log.take(300), log.take(400)]).toEqual([true, true, false]);

    expect(log.waitMs(400)).toBe(600);
    expect([log.take(999), log.take(1_000), log.take(1_000)]).toEqual([false, true, false]);
    expect(log.waitMs(1_000)).toBe(300);
  });

  it('keeps every one of its windows', () => {
    const log = new ExactLog([
      { limit: 2, windowMs: 1_000 },
      { limit: 3, windowMs: 60_000 },
    ]);
    expect([log.take(0), log.take(0), log.take(1_000), log.take(2_000)]).toEqual([true, true, true, false]);

    expect(log.waitMs(2_000)).toBe(58_000);
  });

  it('does not limit without windows', () => {
    const log = new ExactLog([]);
    for (let i = 0; i < 1_000; i++) expect(log.take(0)).toBe(true);

    expect(log.waitMs(0, 1_000)).toBe(0);
  });

  it.each([
    [0, 0],
    [1, 0],
    [2, 1_000],
    [3, 1_000],
    [4, 2_000],
  ])('with %i promised ahead of it an empty log of 2 per second waits %i ms', (ahead, ms) => {
    expect(new ExactLog(twoPerSecond).waitMs(5_000, ahead)).toBe(ms);
  });

  it('counts what is promised after what was taken', () => {
    const log = new ExactLog(twoPerSecond);
    log.take(0);
    log.take(300);

    expect([0, 1, 2, 3].map((ahead) => log.waitMs(400, ahead))).toEqual([600, 900, 1_600, 1_900]);
  });

  it('has a grant again after one was given back', () => {
    const log = new ExactLog(twoPerSecond);
    log.take(0);
    log.take(300);
    log.giveBack(300);

    expect([log.take(400), log.take(400)]).toEqual([true, false]);
  });

  it('gives back the grant of that moment, not the newest: the other start keeps its time', () => {
    const log = new ExactLog(twoPerSecond);
    log.take(0);
    log.take(900);
    log.giveBack(0);
    log.take(1_000);

    expect(log.waitMs(1_100)).toBe(800);
  });

  it('ignores a return of what it never granted', () => {
    const log = new ExactLog(twoPerSecond);
    log.take(0);
    log.take(300);
    log.giveBack(200);

    expect(log.take(400)).toBe(false);
  });

  it('is idle when nothing it remembers matters any longer', () => {
    const log = new ExactLog(twoPerSecond);
    expect(log.idle(0)).toBe(true);

    log.take(0);
    expect([log.idle(999), log.idle(1_000)]).toEqual([false, true]);
  });

  it('remembers its grants when its windows change', () => {
    const log = new ExactLog(twoPerSecond);
    log.take(0);
    log.take(100);

    expect(log.reshaped([{ limit: 3, windowMs: 1_000 }]).waitMs(200, 1)).toBe(800);
    expect(log.reshaped([{ limit: 1, windowMs: 1_000 }]).waitMs(200)).toBe(900);
  });

  it.each([
    [{ limit: 0, windowMs: 1_000 }, 'limit must be an integer >= 1, got 0'],
    [{ limit: 1.5, windowMs: 1_000 }, 'limit must be an integer >= 1, got 1.5'],
    [{ limit: 1, windowMs: 0 }, 'windowMs must be > 0, got 0'],
  ])('refuses the window %j', (window, message) => {
    expect(() => new ExactLog([window])).toThrow(new RangeError(message));
  });
});
