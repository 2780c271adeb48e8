import type { Observable } from 'rxjs';

import type { ReadinessCheck } from '../adapters/http/admin-routes.ts';
import type { LarkspurError } from '../model/errors.ts';
import type { InRecord } from '../model/record.ts';
import type { HostCounts } from '../model/spike.ts';
import type { Traces } from '../operators/trace/traces.ts';
import type { AnswerCache } from '../ports/answer-cache.ts';
import type { BreakerBus } from '../ports/breaker-bus.ts';
import type { CancelBus } from '../ports/cancel-bus.ts';
import type { ClaimStore } from '../ports/claim-store.ts';
import type { Clock, Timers } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ParkedRegister } from '../ports/parked-register.ts';
import type { QuotaLog } from '../ports/quota-log.ts';
import type { Random } from '../ports/random.ts';
import type { RecordFinder } from '../ports/record-finder.ts';
import type { RecordSink } from '../ports/record-sink.ts';
import type { RecordSource } from '../ports/record-source.ts';
import type { RuleShelf } from '../ports/rule-shelf.ts';
import type { TopicReader } from '../ports/topic-reader.ts';
import type { EntryStore } from '../ports/vault.ts';

/** What every adapter takes from the process. */
export interface WorldParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** What the machine counts; absent: nothing is known of it. */
  readonly hostCounts?: (() => HostCounts) | undefined;
  /** Absent: nothing is traced. */
  readonly traces?: Traces | undefined;
}

/** Where records and claims live: Kafka and Redis by address, or one folder. */
export interface Stores {
  readonly mode: 'embedded' | 'kafka';
  /** The workers' group. */
  readonly group: string;
  readonly sink: RecordSink;
  readonly claims: ClaimStore;
  /** Which calls wait outside, in delay topics. */
  readonly parked: ParkedRegister;
  /** Tells all workers of calls that are no longer wanted. */
  readonly cancels: CancelBus;
  /** What workers share about their breakers; absent where there is one worker. */
  readonly fleet?: BreakerBus;
  /** Counts starts: for all workers on Redis, else for this process. */
  readonly quota: QuotaLog;
  /** Last good answers of an upstream: shared by all workers on Redis, else kept in this process. */
  readonly answers: (upstream: string) => AnswerCache;
  /** Claims on events that come in: which of them are known. */
  readonly eventClaims: ClaimStore;
  /** Claims on requests with an `Idempotency-Key`. */
  readonly requestClaims: ClaimStore;
  /** Claims on what one process does for all: questions for tokens, the export of rules. */
  readonly tokenClaims: ClaimStore;
  /** Rules as they were last exported: for all processes on Redis, else for this one. */
  readonly shelf: RuleShelf;
  /** Sealed secrets. */
  readonly entries: EntryStore;
  /** Tells whether an event stands on its topic. */
  readonly finder: RecordFinder;
  /** A member of the workers' group, reading `calls` and the delay topics. */
  source(): RecordSource;
  /** A member of the routes' group, or of that of a profile, which starts where the routes' group is, reading `events`. */
  eventSource(profile?: string): RecordSource;
  /** Reads topics beside all groups. */
  readonly reader: TopicReader;
  /** Reads one topic in a group of its own, named after what for; it ends with its subscription. */
  walkSource(name: string, topic: string): RecordSource;
  /** The group of such a source. */
  walkGroup(name: string): string;
  /** Whether what is needed is there. Upstreams are never part of it. */
  readiness(): readonly ReadinessCheck[];
  /** Resolves with the error when this process has lost its stores for good; absent where that cannot happen. */
  readonly lost?: Promise<LarkspurError>;
  /** The last records of a topic, oldest first, read beside all groups. Errors with `topic_missing`. */
  tail(topic: string, last: number): Observable<InRecord>;
  /** Waits so long for answers of Redis from now on, milliseconds. Without Redis it changes nothing. */
  setRedisTimeoutMs(ms: number): void;
  /** Ends the connections, sources first. What was appended should be flushed before. */
  close(): Promise<void>;
}
