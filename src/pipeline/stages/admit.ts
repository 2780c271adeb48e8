import { filter, map, type OperatorFunction, pipe } from 'rxjs';

import type { Demand } from '../../operators/demand.ts';
import { ringBuffer } from '../../operators/ring/ring-buffer.ts';
import type { RingSet } from '../../operators/ring/ring-set.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { AssignedPartition } from '../../ports/record-source.ts';
import type { Instruments } from '../instruments.ts';
import type { Decoded } from '../job.ts';
import type { Partitions } from '../partitions.ts';
import type { Received } from '../received.ts';

import type { Arrival } from './decode.ts';

/** What can be admitted. */
interface Admissible {
  readonly received: Pick<Received, 'partition' | 'record'>;
}

/** What admit needs. */
export interface AdmitContext<T extends Admissible = Decoded> {
  readonly rings: RingSet<AssignedPartition, T>;
  readonly partitions: Partitions;
  readonly instruments: Pick<Instruments, 'known'>;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Asked for by the lanes: nothing leaves a ring that they have no room for. */
  readonly demand: Demand;
  /** Told when a partition is lost, so that later stages forget its records. */
  readonly lost: (partition: AssignedPartition) => void;
  /** Told of each that is ours. */
  readonly known?: (item: T) => void;
}

/**
 * Backpressure: a ring per partition takes what comes and hands on what the lanes ask for. A partition whose ring passes
 * its high mark is paused, alone, and resumed at the low mark; nothing is refused or dropped. A record in a delay topic
 * stays there, and everything behind it, until its topic's time is over.
 */
export function admit<T extends Admissible>(context: AdmitContext<T>): OperatorFunction<Arrival<T>, T> {
  const { rings, partitions, instruments, demand, lost, known, clock, timers } = context;
  const register = (arrival: Arrival<T>): T | undefined => {
    switch (arrival.kind) {
      case 'assigned':
        partitions.open(arrival.partition, arrival.fromOffset, arrival.metadata);
        return undefined;
      case 'lost':
        partitions.close(arrival.partition);
        lost(arrival.partition);
        return undefined;
      case 'decoded':
        if (partitions.take(arrival.partition, arrival.item.received.record.offset)) {
          known?.(arrival.item);
          return arrival.item;
        }
        if (partitions.holds(arrival.partition)) instruments.known();
        return undefined;
    }
  };
  return pipe(
    map(register),
    filter((item) => item !== undefined),
    ringBuffer({ rings, partitionOf: (item) => item.received.partition, demand, waking: { clock, timers } }),
  );
}
