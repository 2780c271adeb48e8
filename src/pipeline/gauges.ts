import type { BreakerSnapshot } from '../operators/breaker/breaker.ts';
import type { FairLanes } from '../operators/lanes/fair-lanes.ts';
import type { BucketUse } from '../operators/limit/bucket-table.ts';
import type { RingSet } from '../operators/ring/ring-set.ts';
import type { Clock } from '../ports/clock.ts';
import type { Labels, Metrics } from '../ports/metrics.ts';
import type { AssignedPartition } from '../ports/record-source.ts';

import type { ClaimKeeper } from './claim-keeper.ts';
import { type Destination, placesOf } from './destination.ts';
import type { Decoded } from './job.ts';
import type { Lines } from './lines.ts';
import type { Overflow } from './overflow.ts';
import type { Partitions } from './partitions.ts';
import type { Pauses } from './pauses.ts';

/** What the gauges look at. */
export interface Observed {
  readonly rings: RingSet<AssignedPartition, Decoded>;
  readonly lanes: FairLanes<Decoded>;
  readonly partitions: Partitions;
  readonly keeper: ClaimKeeper;
  readonly lines: Lines;
  readonly overflow: Overflow;
  readonly destinations: ReadonlyMap<string, Destination>;
  readonly pauses: Pick<Pauses, 'has'>;
  readonly clock: Clock;
}

const breakerStates = { closed: 0, ramp: 1, 'half-open': 2, open: 3 } as const;

function breakerState({ state, forced }: BreakerSnapshot): number {
  return breakerStates[forced === 'open' ? 'open' : state];
}

/** Shows what the parts are at when somebody scrapes. */
export function gauges(metrics: Metrics, observed: Observed): void {
  houseGauges(metrics, observed);
  quotaGauges(metrics, observed);
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

function houseGauges(metrics: Metrics, observed: Observed): void {
  const { rings, lanes, partitions, keeper, lines, overflow, destinations, clock, pauses } = observed;
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
  metrics.gauge(
    'larkspur_full_lanes',
    'Tenants at a bucket of quota whose lane is full, so that some of their calls wait in a delay topic',
    [],
    () => [[{}, overflow.stats().full] as const],
  );
  metrics.gauge('larkspur_full_lane_calls', 'Calls in a delay topic that left because their lane was full', [], () => [
    [{}, overflow.stats().outside] as const,
  ]);
  metrics.gauge('larkspur_claims_open', 'Claims held by this process', [], () => [[{}, keeper.size] as const]);
  const each = <T>(read: (destination: Destination) => T) => [...destinations.values()].map(read);
  metrics.gauge('larkspur_in_flight', 'Attempts at an upstream', ['upstream'], () =>
    placesOf(destinations).map((d) => [{ upstream: d.place }, d.slots.inUse] as const),
  );
  metrics.gauge('larkspur_concurrency_limit', 'Attempts that may be made at an upstream at once', ['upstream'], () =>
    placesOf(destinations).map((d) => [{ upstream: d.place }, d.width.limit] as const),
  );
  metrics.gauge('larkspur_upstream_paused', '1 while calls to an upstream wait on purpose', ['upstream'], () =>
    each((d) => [{ upstream: d.name }, pauses.has(d.name) ? 1 : 0] as const),
  );
  metrics.gauge('larkspur_breaker_state', '0 closed, 1 ramp, 2 half-open, 3 open', ['upstream', 'breaker'], () =>
    each((d) =>
      [...(d.breakers?.entries() ?? [])].map(
        ([key, breaker]) => [{ upstream: d.name, breaker: key }, breakerState(breaker.snapshot(clock.now()))] as const,
      ),
    ).flat(),
  );
}
