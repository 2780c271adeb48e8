import { Demand } from '../../../../src/operators/demand.ts';
import { FairLanes, type Gate, go } from '../../../../src/operators/lanes/fair-lanes.ts';
import type { InLanesOptions } from '../../../../src/operators/lanes/in-lanes.ts';
import type { FairLanesOptions } from '../../../../src/operators/lanes/options.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

import { at } from './support.ts';

/** What `inLanes` needs, in virtual time; two turns at once, every item independent. */
export function parts<T>(
  gate: (item: T, nowMs: number) => Gate = () => go,
  lanesOptions: FairLanesOptions = {},
  more: Partial<InLanesOptions<T>> = {},
) {
  const time = new VirtualTime();
  const lanes = new FairLanes<T>(lanesOptions, gate);
  const options: InLanesOptions<T> = {
    lanes,
    place: () => at(undefined),
    demand: new Demand(),
    maxInTurn: 2,
    clock: time,
    timers: time,
    ...more,
  };
  return { time, lanes, options };
}
