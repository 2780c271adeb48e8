import { describe, expect, it } from 'vitest';

import { FairLanes, type Gate, go } from '../../../../src/operators/lanes/fair-lanes.ts';
import type { FairLanesOptions } from '../../../../src/operators/lanes/options.ts';

import { at, serve, take } from './support.ts';

const lanesWith = (gate: (item: string, nowMs: number) => Gate = () => go, options: FairLanesOptions = {}) =>
  new FairLanes<string>(options, gate);

describe('FairLanes: fairness', () => {
  it('shares 8 : 4 : 1 between classes that all have work', () => {
    const lanes = lanesWith();
    for (let i = 0; i < 200; i++) {
      for (const priority of ['bulk', 'normal', 'interactive'] as const)
        lanes.add(priority, at(undefined, { priority }));
    }
    const served = serve(lanes, 0, 130);
    const share = (priority: string) => served.filter((item) => item === priority).length;
    expect([share('interactive'), share('normal'), share('bulk')]).toEqual([80, 40, 10]);
  });

  it('serves a tenant that arrives with ten next to one that came with thousands', () => {
    const lanes = lanesWith();
    for (let i = 0; i < 4_000; i++) lanes.add('A', at(`a${i}`, { tenant: 'A' }));
    for (let i = 0; i < 10; i++) lanes.add('B', at(`b${i}`, { tenant: 'B' }));
    const served = serve(lanes, 0, 21);
    expect(served.filter((item) => item === 'B')).toHaveLength(10);
  });

  it('charges what an item costs', () => {
    const lanes = lanesWith();
    for (let i = 0; i < 100; i++) {
      lanes.add('dear', at(undefined, { tenant: 'A', cost: 4 }));
      lanes.add('cheap', at(undefined, { tenant: 'B' }));
    }
    const served = serve(lanes, 0, 50);
    expect(served.filter((item) => item === 'dear')).toHaveLength(10);
  });

  it('shares fairly a bucket that lets one through at a time', () => {
    let open = false;
    const lanes = lanesWith(() => (open ? go : { kind: 'wait', room: 'bucket', untilMs: Infinity }));
    for (let i = 0; i < 3_000; i++) lanes.add('A', at(`a${i}`, { tenant: 'A', priority: 'bulk' }));
    for (let i = 0; i < 3; i++) lanes.add('B', at(`b${i}`, { tenant: 'B', priority: 'bulk' }));
    for (let i = 0; i < 40; i++) lanes.add('I', at(`i${i}`, { tenant: 'A', priority: 'interactive' }));
    expect(lanes.next(0)).toBeUndefined();
    const served: string[] = [];
    for (let i = 0; i < 54; i++) {
      open = true;
      lanes.wake('bucket');
      const turn = take(lanes);
      open = false;
      served.push(turn.item);
      turn.done();
      expect(lanes.next(0)).toBeUndefined();
    }
    expect(served.slice(0, 36).filter((item) => item === 'I')).toHaveLength(32);
    expect(served.slice(0, 36).filter((item) => item === 'B')).toHaveLength(2);
  });
});
