import type { ClassWeights } from './deficit-rounds.ts';
import type { LaneState } from './lane.ts';
import type { RoomStats } from './waiting-rooms.ts';

/** What may be set for lanes. */
export interface FairLanesOptions {
  /** Items queued and in turn together; an integer >= 1. Default 4096. */
  readonly capacityItems?: number;
  /** The same for one lane. Default: no bound of its own. */
  readonly laneCapacityItems?: number;
  /** Default 8 : 4 : 1. */
  readonly weights?: ClassWeights;
}

/** Figures of all lanes. */
export interface LaneStats {
  readonly queued: number;
  readonly inTurn: number;
  readonly lanes: Readonly<Record<LaneState, number>>;
  readonly rooms: readonly RoomStats[];
}
