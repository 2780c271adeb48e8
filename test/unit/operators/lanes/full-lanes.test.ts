import { describe, expect, it } from 'vitest';

import { FullLanes } from '../../../../src/operators/lanes/full-lanes.ts';

const waitsMs = [10_000, 60_000, 600_000, 3_600_000];
const capacityItems = 2_048;

/** Lanes with one flow or more, in which nothing else is. */
function world() {
  const full = new FullLanes({ waitsMs });
  const here = new Map<string, number>();
  let order = 0;
  const freeItems = (): number => capacityItems - [...here.values()].reduce((sum, one) => sum + one, 0);
  const change = (name: string, by: number): void => void here.set(name, (here.get(name) ?? 0) + by);
  return {
    full,
    here: (name: string) => here.get(name) ?? 0,
    comes(name: string, nowMs: number, perSecond: number | 'unknown' = 50, mostMs = Infinity): number | undefined {
      const known = perSecond === 'unknown' ? undefined : perSecond;
      const waitMs = full.comes(name, { nowMs, order: order++, freeItems: freeItems(), perSecond: known, mostMs });
      if (waitMs === undefined) change(name, 1);
      return waitMs;
    },
    ends(name: string, nowMs: number, served = true): void {
      change(name, -1);
      full.ended(name, false, nowMs, served);
    },
  };
}

/** How many of so many that come at once are sent away for how long. */
function sentAway(lanes: ReturnType<typeof world>, name: string, count: number, perSecond?: number | 'unknown') {
  const waits = new Map<number | undefined, number>();
  for (let n = 0; n < count; n++) {
    const waitMs = lanes.comes(name, 0, perSecond);
    waits.set(waitMs, (waits.get(waitMs) ?? 0) + 1);
  }
  return waits;
}

describe('FullLanes', () => {
  it('a flow alone keeps a third of all places; the rest is sent away for as long as there is work without it', () => {
    const waits = sentAway(world(), 'a', 100_000);
    // 50 a second: what is here lasts 13.7 s, with the next ones 60 s, with the next ones ten minutes.
    expect(waits.get(undefined)).toBe(683);
    expect(683 + (waits.get(10_000) ?? 0)).toBeCloseTo(60 * 50, -1);
    expect(3_000 + (waits.get(60_000) ?? 0)).toBeCloseTo(600 * 50, -1);
    expect(waits.get(600_000)).toBeCloseTo(100_000 - 30_000, -1);
    expect(waits.get(3_600_000)).toBeUndefined();
  });

  it('who has little here is never sent away, however full the lanes are', () => {
    const lanes = world();
    sentAway(lanes, 'a', 10_000);
    for (let n = 0; n < 300; n++) expect(lanes.comes('b', 0)).toBeUndefined();
    expect(lanes.full.stats(0)).toMatchObject({ full: 1, outside: 10_000 - 683 });
  });

  it('two flows that bring too much keep a quarter each', () => {
    const lanes = world();
    for (let n = 0; n < 5_000; n++) for (const name of ['a', 'b']) lanes.comes(name, 0, 10);
    expect(lanes.here('a')).toBeCloseTo(512, -1);
    expect(lanes.here('b')).toBeCloseTo(512, -1);
  });

  it('what would be done within the shortest wait is not sent away, so the partition waits', () => {
    const lanes = world();
    expect([...sentAway(lanes, 'a', 2_000, 1_000).keys()]).toEqual([undefined]);
  });

  it('of a flow without known limits it is watched for five seconds how many end', () => {
    const lanes = world();
    expect([...sentAway(lanes, 'a', 1_500, 'unknown').keys()]).toEqual([undefined]);
    for (let n = 0; n < 100; n++) lanes.ends('a', n * 50);
    expect(lanes.comes('a', 4_999, 'unknown')).toBeUndefined();
    // 20 a second: 1,401 last for 70 s.
    expect(lanes.comes('a', 5_000, 'unknown')).toBe(60_000);
  });

  it('is never away past the last moment at which it is of use', () => {
    const lanes = world();
    sentAway(lanes, 'a', 10_000);
    expect(lanes.comes('a', 0, 50, 599_000)).toBe(60_000);
    expect(lanes.comes('a', 0, 50, 10_000)).toBe(10_000);
    expect(lanes.comes('a', 0, 50, 9_999)).toBeUndefined();
  });

  it('a flow of which nobody knows what it may, and nothing ends, is sent away for no longer than that has lasted, ten minutes at most', () => {
    const lanes = world();
    for (let n = 0; n < 1_000; n++) lanes.comes('a', 0, 'unknown');
    expect(lanes.comes('a', 11_000, 'unknown')).toBe(10_000);
    expect(lanes.comes('a', 60_000, 'unknown')).toBe(60_000);
    expect(lanes.comes('a', 599_999, 'unknown')).toBe(60_000);
    expect(lanes.comes('a', 5_000_000, 'unknown')).toBe(600_000);
  });

  it('a flow of which nothing ends for an hour is sent away the longer the longer it lasts, and goes on within ten minutes', () => {
    const { full } = world();
    const count = 20_000;
    const due = new Map<number, number[]>();
    let [here, sent, ended] = [0, 0, 0];
    const comes = (order: number, second: number): void => {
      const coming = { nowMs: second * 1_000, order, freeItems: capacityItems - here, perSecond: 50, mostMs: Infinity };
      const waitMs = full.comes('a', coming);
      if (waitMs === undefined) here++;
      else {
        sent++;
        const at = second + waitMs / 1_000;
        const orders = due.get(at);
        if (orders === undefined) due.set(at, [order]);
        else orders.push(order);
      }
    };
    const passes = (second: number): void => {
      for (const order of due.get(second) ?? []) {
        full.back('a', second * 1_000);
        comes(order, second);
      }
      due.delete(second);
    };
    for (let order = 0; order < count; order++) comes(order, 0);
    for (let second = 1; second <= 3_600; second++) passes(second);
    expect(sent / count).toBeLessThan(25);
    for (let second = 3_601; second <= 3_600 + 600 + 1.25 * (count / 50); second++) {
      passes(second);
      for (let n = 0; n < 50 && here > 0; n++, here--, ended++) full.ended('a', false, second * 1_000, true);
    }
    expect(ended).toBe(count);
    expect(sent / count).toBeLessThan(30);
  });

  it('a flow that is slower than its limits is sent away as if it used them', () => {
    const lanes = world();
    sentAway(lanes, 'a', 2_000);
    // 25 a second for ten seconds, then nothing.
    for (let n = 0; n < 250; n++) lanes.ends('a', n * 40);
    expect(lanes.comes('a', 10_000)).toBeUndefined();
    for (let n = 0; n < 249; n++) lanes.comes('a', 10_000);
    // 683 here: for ever at the present pace, 14 s as soon as it is 50 a second.
    expect(lanes.comes('a', 30_000)).toBe(10_000);
  });

  it('what comes back to somebody else is not counted on', () => {
    const lanes = world();
    sentAway(lanes, 'a', 50_000);
    lanes.full.forgetReturns();
    expect(lanes.comes('a', 1_000)).toBe(10_000);
    expect(lanes.full.stats(1_000)).toMatchObject({ full: 1, outside: 1 });
  });

  it('forgets a flow that has nothing here and nothing outside', () => {
    const lanes = world();
    const away = sentAway(lanes, 'a', 700).get(10_000) ?? 0;
    for (let n = 0; n < 700 - away; n++) lanes.ends('a', 5_000);
    expect(lanes.full.stats(5_000)).toEqual({ here: 0, full: 1, outside: away });
    for (let n = 0; n < away; n++) {
      lanes.full.back('a', 10_000);
      lanes.comes('a', 10_000);
      lanes.ends('a', 10_000);
    }
    expect(lanes.full.stats(10_000)).toEqual({ here: 0, full: 0, outside: 0 });
    expect(lanes.full.here('a')).toBe(0);
  });

  it('refuses a share that leaves nothing', () => {
    expect(() => new FullLanes({ waitsMs, share: 0 })).toThrow(/fullLanes.share/);
  });
});
