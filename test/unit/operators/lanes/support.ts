import type { FairLanes } from '../../../../src/operators/lanes/fair-lanes.ts';
import type { Place } from '../../../../src/operators/lanes/lane.ts';
import type { Turn } from '../../../../src/operators/lanes/turn.ts';

/** Partition of every item that names no other. */
export const owner = { partition: 0 };

/** Place of an item with the usual rest. */
export function at(lane: string | undefined, place: Partial<Place> = {}): Place {
  return { lane, owner, priority: 'normal', tenant: 't', cost: 1, ...place };
}

/** Takes turns until there is none, or so many; ends each at once. */
export function serve(lanes: FairLanes<string>, nowMs = 0, count = Infinity): string[] {
  const served: string[] = [];
  while (served.length < count) {
    const turn = lanes.next(nowMs);
    if (turn === undefined) break;
    served.push(turn.item);
    turn.done();
  }
  return served;
}

/** Takes a turn that must be there. */
export function take(lanes: FairLanes<string>, nowMs = 0): Turn<string> {
  const turn = lanes.next(nowMs);
  if (turn === undefined) throw new Error('no turn');
  return turn;
}
