import type { Verdict } from '../model/outcome.ts';
import type { BreakerSnapshot } from '../operators/breaker/breaker.ts';
import type { FairLanes } from '../operators/lanes/fair-lanes.ts';
import type { BucketUse } from '../operators/limit/bucket-table.ts';
import type { RingSet } from '../operators/ring/ring-set.ts';
import type { Clock } from '../ports/clock.ts';
import type { Counter, Histogram, Labels, Metrics } from '../ports/metrics.ts';
import type { LimitKey } from '../ports/profile.ts';
import type { AssignedPartition } from '../ports/record-source.ts';

import type { ClaimKeeper } from './claim-keeper.ts';
import type { Destination } from './destination.ts';
import type { Decoded, Ending, Job } from './job.ts';
import type { Lines } from './lines.ts';
import type { Partitions } from './partitions.ts';

/** What the gauges look at. */
export interface Observed {
  readonly rings: RingSet<AssignedPartition, Decoded>;
  readonly lanes: FairLanes<Decoded>;
  readonly partitions: Partitions;
  readonly keeper: ClaimKeeper;
  readonly lines: Lines;
  readonly destinations: ReadonlyMap<string, Destination>;
  readonly clock: Clock;
}

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.8, 1, 2.5, 5, 10, 30, 60];
const breakerStates = { closed: 0, ramp: 1, 'half-open': 2, open: 3 } as const;

function breakerState({ state, forced }: BreakerSnapshot): number {
  return breakerStates[forced === 'open' ? 'open' : state];
}

/** The pipeline's metrics. Gauges read the decisions when somebody scrapes; the hot path only counts. */
export class Instruments {
  readonly #ended: Counter;
  readonly #attempts: Counter;
  readonly #attemptSeconds: Histogram;
  readonly #totalSeconds: Histogram;
  readonly #retries: Counter;
  readonly #retrySeconds: Histogram;
  readonly #held: Counter;
  readonly #superseded: Counter;
  readonly #known: Counter;
  readonly #quotaGrants: Counter;
  readonly #quotaRefusals: Counter;
  readonly #quotaSeconds: Histogram;
  readonly #clock: Clock;

  constructor(metrics: Metrics, observed: Observed) {
    this.#clock = observed.clock;
    this.#ended = metrics.counter('larkspur_records_ended_total', 'Records with a terminal record, by how they ended', [
      'upstream',
      'ending',
      'reason',
    ]);
    this.#attempts = metrics.counter('larkspur_attempts_total', 'Attempts by class of their outcome', [
      'upstream',
      'class',
    ]);
    this.#attemptSeconds = metrics.histogram('larkspur_attempt_seconds', 'Time of one attempt', ['upstream'], seconds);
    this.#totalSeconds = metrics.histogram(
      'larkspur_call_seconds',
      'Time from reading a record to its durable end',
      ['upstream'],
      seconds,
    );
    this.#retries = metrics.counter(
      'service_retry_total',
      'Repeated attempts, by what the attempt before them ended with',
      ['service', 'status_code', 'error_type'],
    );
    this.#retrySeconds = metrics.histogram(
      'service_retry_latency_seconds',
      'Time of repeated attempts; attempt_number 1 is the first retry',
      ['service', 'attempt_number'],
      seconds,
    );
    this.#held = metrics.counter('larkspur_held_total', 'Calls that went to a delay topic, by what they wait for', [
      'upstream',
      'why',
    ]);
    this.#superseded = metrics.counter(
      'larkspur_superseded_total',
      'Answers that came after somebody else took the call over',
      ['upstream'],
    );
    this.#known = metrics.counter(
      'larkspur_records_known_total',
      'Records that were read again although an earlier owner had finished them, as its commit tells',
      [],
    );
    const bucket = ['upstream', 'bucket'];
    this.#quotaGrants = metrics.counter('larkspur_quota_grants_total', 'Starts that drew from a bucket', bucket);
    this.#quotaRefusals = metrics.counter('larkspur_quota_refusals_total', 'Starts that the upstream refused', bucket);
    this.#quotaSeconds = metrics.histogram(
      'larkspur_quota_wait_seconds',
      'Time that a start waited for quota',
      ['upstream'],
      seconds,
    );
    gauges(metrics, observed);
    quotaGauges(metrics, observed);
  }

  /** One attempt was judged; `ms` is how long it took. To be called before it is added to the job's history. */
  attempted(job: Job, verdict: Verdict, ms: number): void {
    const service = job.destination.name;
    this.#attempts.add({ upstream: service, class: verdict.class });
    this.#attemptSeconds.observe({ upstream: service }, ms / 1_000);
    const last = job.lastVerdict;
    job.lastVerdict = verdict;
    if (last === undefined) return;
    this.#retries.add({ service, status_code: String(last.status ?? 0), error_type: last.errorType });
    const number = job.attemptsMade > 5 ? '6+' : String(job.attemptsMade);
    this.#retrySeconds.observe({ service, attempt_number: number }, ms / 1_000);
  }

  /** An attempt drew from its buckets. @param waitedMs how long it had waited for them right before */
  drewQuota({ destination: { name }, plan: { limits } }: Job, waitedMs: number): void {
    const [first] = limits;
    if (first?.label === undefined || first.windows.length === 0) return;
    this.#quotaGrants.add({ upstream: name, bucket: first.label });
    if (waitedMs > 0) this.#quotaSeconds.observe({ upstream: name }, waitedMs / 1_000);
  }

  /** The upstream refused a start of this bucket. */
  quotaRefused({ destination: { name } }: Job, { label }: LimitKey): void {
    this.#quotaRefusals.add({ upstream: name, bucket: label ?? 'other' });
  }

  /** A record's terminal record is durable, or its record in a delay topic. */
  settled(item: Decoded, ending: Ending): void {
    const upstream = item.kind === 'call' ? item.destination.name : 'none';
    if (ending.kind === 'held') {
      this.#held.add({ upstream, why: ending.why });
      return;
    }
    const reason =
      ending.kind === 'dead-letter' ? ending.reason : ending.kind === 'result' ? ending.result.status : 'none';
    this.#ended.add({ upstream, ending: ending.kind, reason });
    this.#totalSeconds.observe({ upstream }, (this.#clock.now() - item.received.readAtMs) / 1_000);
  }

  /** A record came again that an earlier owner had finished. */
  known(): void {
    this.#known.add({});
  }

  /** A claim was finished by somebody else meanwhile. */
  superseded(job: Job): void {
    this.#superseded.add({ upstream: job.destination.name });
  }
}

function quotaGauges(metrics: Metrics, { destinations, clock }: Observed): void {
  const bucket = ['upstream', 'bucket'];
  const each = (read: (use: BucketUse) => number) => () =>
    [...destinations.values()].flatMap(({ name, limiter }) =>
      limiter.uses(clock.now()).map((use) => [{ upstream: name, bucket: use.label }, read(use)] as const),
    );
  metrics.gauge(
    'larkspur_quota_used_ratio',
    'Share of the fullest window that is used, of the fullest bucket of that name',
    bucket,
    each(({ used }) => used),
  );
  metrics.gauge(
    'larkspur_quota_factor',
    'Learned share of the configured limits, the lowest of that name',
    bucket,
    each(({ factor }) => factor),
  );
  metrics.gauge(
    'larkspur_quota_split',
    'Replicas among which the limits are split because Redis is or was away; 0: they are counted together',
    ['upstream'],
    () => [...destinations.values()].map((d) => [{ upstream: d.name }, d.limiter.snapshot(clock.now()).splitAmong]),
  );
}

function gauges(metrics: Metrics, observed: Observed): void {
  const { rings, lanes, partitions, keeper, lines, destinations, clock } = observed;
  const place = ({ topic, partition }: AssignedPartition): Labels => ({ topic, partition: String(partition) });
  const ring = ['topic', 'partition'];
  metrics.gauge('larkspur_ring_items', 'Records in the ring of a partition', ring, () =>
    [...rings.stats()].map(({ partition, items }) => [place(partition), items] as const),
  );
  metrics.gauge('larkspur_ring_bytes', 'Bytes in the ring of a partition', ring, () =>
    [...rings.stats()].map(({ partition, bytes }) => [place(partition), bytes] as const),
  );
  metrics.gauge('larkspur_partition_paused', '1 while a partition is paused', ring, () =>
    [...rings.stats()].map(({ partition, paused }) => [place(partition), paused ? 1 : 0] as const),
  );
  metrics.gauge('larkspur_commit_distance', 'Records from the first unfinished to the newest taken', ring, () =>
    [...partitions.stats()].map(({ partition, distance }) => [place(partition), distance] as const),
  );
  metrics.gauge('larkspur_lane_items', 'Records queued in lanes', [], () => [[{}, lanes.size] as const]);
  metrics.gauge('larkspur_turns', 'Records under way, from the lane to the durable end', [], () => [
    [{}, lanes.inTurn] as const,
  ]);
  metrics.gauge('larkspur_parked_keys', 'Keys of our partitions with a call in a delay topic', [], () => [
    [{}, lines.keys] as const,
  ]);
  metrics.gauge('larkspur_claims_open', 'Claims held by this process', [], () => [[{}, keeper.size] as const]);
  const each = <T>(read: (destination: Destination) => T) => [...destinations.values()].map(read);
  metrics.gauge('larkspur_in_flight', 'Attempts at an upstream', ['upstream'], () =>
    each((d) => [{ upstream: d.name }, d.slots.inUse] as const),
  );
  metrics.gauge('larkspur_concurrency_limit', 'Attempts that may be made at an upstream at once', ['upstream'], () =>
    each((d) => [{ upstream: d.name }, d.width.limit] as const),
  );
  metrics.gauge('larkspur_breaker_state', '0 closed, 1 ramp, 2 half-open, 3 open', ['upstream', 'breaker'], () =>
    each((d) =>
      [...(d.breakers?.entries() ?? [])].map(
        ([key, breaker]) => [{ upstream: d.name, breaker: key }, breakerState(breaker.snapshot(clock.now()))] as const,
      ),
    ).flat(),
  );
}
