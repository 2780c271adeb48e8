import { describe, expect, it } from 'vitest';

import { HotKeys } from '../../../../src/operators/cache/hot-keys.ts';
import { seededRandom } from '../../../support/virtual-time.ts';

/** So many a second for so long, the key drawn anew each time. */
function traffic(keys: HotKeys, fromMs: number, untilMs: number, perSecond: number, draw: () => string): void {
  for (let atMs = fromMs; atMs < untilMs; atMs += 1_000 / perSecond) keys.count(draw(), atMs);
}

describe('hot keys', () => {
  it('are the three that take 90 % of the traffic, with their rates, whatever else comes', () => {
    const random = seededRandom(1);
    const keys = new HotKeys();
    const draw = () => (random.next() < 0.9 ? `hot ${Math.floor(random.next() * 3)}` : `key ${random.next()}`);
    traffic(keys, 0, 10_000, 1_000, draw);

    const found = keys.hot(10_000);
    expect(found.map(({ key }) => key).sort()).toEqual(['hot 0', 'hot 1', 'hot 2']);
    for (const { perSecond, share } of found) {
      expect(perSecond).toBeGreaterThan(240);
      expect(perSecond).toBeLessThan(360);
      expect(share).toBeGreaterThan(0.25);
    }
    expect([keys.isHot('hot 0', 10_000), keys.isHot('key 1', 10_000)]).toEqual([true, false]);
  });

  it('are found within four seconds, and forgotten within eight', () => {
    const keys = new HotKeys();
    traffic(keys, 0, 60_000, 500, () => 'old');
    traffic(keys, 60_000, 63_000, 500, () => 'new');
    expect(keys.hot(63_000).map(({ key }) => key)).toEqual(['new', 'old']);

    traffic(keys, 63_000, 68_000, 500, () => 'new');
    expect(keys.hot(68_000).map(({ key }) => key)).toEqual(['new']);
    expect(keys.hot(77_000)).toEqual([]);
  });

  it('are none where all are asked for alike, or seldom: who took over a counter does not pass for hot', () => {
    const random = seededRandom(2);
    const even = new HotKeys();
    traffic(even, 0, 12_000, 2_000, () => `key ${Math.floor(random.next() * 5_000)}`);
    const seldom = new HotKeys();
    traffic(seldom, 0, 12_000, 15, () => 'only');

    expect([even.hot(12_000), seldom.hot(12_000)]).toEqual([[], []]);
  });

  it('are ten at most, the hottest first', () => {
    const keys = new HotKeys({ share: 0.01 });
    let n = 0;
    traffic(keys, 0, 8_000, 2_000, () => `key ${Math.floor(Math.sqrt(n++ % 400))}`);

    const found = keys.hot(8_000);
    expect(found.map(({ key }) => key)).toEqual(Array.from({ length: 10 }, (_, rank) => `key ${19 - rank}`));
  });
});
