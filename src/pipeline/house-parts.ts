import type { HostCounts } from '../model/spike.ts';
import type { Traces } from '../operators/trace/traces.ts';
import type { BreakerBus } from '../ports/breaker-bus.ts';
import type { ClaimStore } from '../ports/claim-store.ts';
import type { Clock, Timers } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ParkedRegister } from '../ports/parked-register.ts';
import type { Random } from '../ports/random.ts';
import type { RecordSink } from '../ports/record-sink.ts';
import type { RecordSource } from '../ports/record-source.ts';

import type { Destination } from './destination.ts';

/** What comes from outside: ports and the upstreams. */
export interface HouseParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly source: RecordSource;
  readonly sink: RecordSink;
  readonly claims: ClaimStore;
  readonly parked: ParkedRegister;
  readonly destinations: ReadonlyMap<string, Destination>;
  /** What the workers share about their breakers. Absent: this worker is alone. */
  readonly fleet?: BreakerBus | undefined;
  /** Counters of the machine that only grow, by name; asked once a minute. Absent: nothing is known of it. */
  readonly hostCounts?: (() => HostCounts) | undefined;
  /** Absent: nothing is traced. */
  readonly traces?: Traces | undefined;
}
