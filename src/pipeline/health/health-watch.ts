import { type HealthReading, type HealthScore, healthScore } from '../../operators/health/health-score.ts';
import { Increase } from '../../operators/health/increase.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetricsReader } from '../../ports/metrics.ts';
import type { Destination } from '../destination.ts';
import type { House } from '../house.ts';

/** How an upstream is at present, and what that was found from. */
export interface UpstreamHealth extends HealthScore {
  readonly upstream: string;
  readonly reading: HealthReading;
}

const windowMs = 60_000;
const sumNames = ['attempts', 'failed', 'refused', 'slow', 'good'] as const;
type Sums = Record<(typeof sumNames)[number], number>;

// As the recorded rules: what counts against an upstream.
const failures: ReadonlySet<string> = new Set(['retryable', 'ambiguous', 'auth']);
const slowAboveSeconds = '0.8';

interface Watched {
  readonly over: Readonly<Record<keyof Sums, Increase>>;
  good: number;
  /** Monotonic: since when it owes an answer. `undefined`: nothing waits for it. */
  owesSinceMs: number | undefined;
}

/** Reads once a second how the upstreams of a house are, out of its metrics, lanes and breakers. Keeps one minute. */
export class HealthWatch {
  readonly #house: Pick<House, 'destinations' | 'lanes'>;
  readonly #metrics: MetricsReader;
  readonly #clock: Clock;
  readonly #watched = new Map<string, Watched>();
  #latest: readonly UpstreamHealth[] = [];

  constructor(house: Pick<House, 'destinations' | 'lanes'>, metrics: MetricsReader, clock: Clock) {
    this.#house = house;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /** As the newest look found them; none before the first. */
  get latest(): readonly UpstreamHealth[] {
    return this.#latest;
  }

  /** Looks; to be called once a second. */
  look(): readonly UpstreamHealth[] {
    const nowMs = this.#clock.now();
    const sums = this.#sums();
    const waiting = waitingFor(this.#house);
    this.#latest = [...this.#house.destinations.values()].map((destination) => {
      const { name } = destination;
      const watched = this.#watchedOf(name);
      const total = sums.get(name) ?? nothing();
      for (const sum of sumNames) watched.over[sum].add(nowMs, total[sum]);
      const { count = 0, sinceMs: waitsSinceMs } = waiting.get(name) ?? {};
      const answered = total.good > watched.good;
      watched.good = total.good;
      if (waitsSinceMs === undefined) watched.owesSinceMs = undefined;
      else if (answered || watched.owesSinceMs === undefined) watched.owesSinceMs = nowMs;
      const reading: HealthReading = {
        attempts: watched.over.attempts.value,
        waiting: count,
        failed: watched.over.failed.value,
        refused: watched.over.refused.value,
        slow: watched.over.slow.value,
        oldestWaitMs: Math.max(0, nowMs - (waitsSinceMs ?? nowMs)),
        brokenShare: brokenShare(destination, nowMs),
        silentMs: nowMs - (watched.owesSinceMs ?? nowMs),
      };
      return { upstream: name, ...healthScore(reading), reading };
    });
    return this.#latest;
  }

  #watchedOf(name: string): Watched {
    let watched = this.#watched.get(name);
    if (watched === undefined) {
      const over = Object.fromEntries(sumNames.map((sum) => [sum, new Increase(windowMs)])) as Watched['over'];
      this.#watched.set(name, (watched = { over, good: 0, owesSinceMs: undefined }));
    }
    return watched;
  }

  /** Counts since the start of the process, by upstream. */
  #sums(): ReadonlyMap<string, Sums> {
    const byName = new Map<string, Sums>();
    const of = (name = ''): Sums => {
      let sums = byName.get(name);
      if (sums === undefined) byName.set(name, (sums = nothing()));
      return sums;
    };
    for (const [{ upstream, class: verdict = '' }, count] of this.#metrics.samples('larkspur_attempts_total')) {
      const sums = of(upstream);
      sums.attempts += count;
      if (verdict === 'success') sums.good += count;
      if (failures.has(verdict)) sums.failed += count;
    }
    for (const [{ upstream }, count] of this.#metrics.samples('larkspur_quota_refusals_total'))
      of(upstream).refused += count;
    for (const [{ upstream, le }, count] of this.#metrics.samples('larkspur_attempt_seconds_bucket')) {
      if (le === '+Inf') of(upstream).slow += count;
      if (le === slowAboveSeconds) of(upstream).slow -= count;
    }
    return byName;
  }
}

function nothing(): Sums {
  return { attempts: 0, failed: 0, refused: 0, slow: 0, good: 0 };
}

/** How many calls for each upstream, its groups of APIs among them, are here, and since when the oldest is. */
function waitingFor({ lanes }: Pick<House, 'lanes'>): ReadonlyMap<string, { count: number; sinceMs: number }> {
  const waiting = new Map<string, { count: number; sinceMs: number }>();
  for (const { item } of lanes.entries()) {
    if (item.kind !== 'call') continue;
    const { readAtMs } = item.received;
    const known = waiting.get(item.destination.name);
    if (known === undefined) waiting.set(item.destination.name, { count: 1, sinceMs: readAtMs });
    else {
      known.count++;
      known.sinceMs = Math.min(known.sinceMs, readAtMs);
    }
  }
  return waiting;
}

const broken = { closed: 0, ramp: 0.25, 'half-open': 0.5, open: 1 } as const;

function brokenShare({ breakers }: Destination, nowMs: number): number {
  const all = [...(breakers?.entries() ?? [])].map(([, breaker]) => breaker.snapshot(nowMs));
  const sum = all.reduce(
    (total, { state, forced }) => total + (forced === 'open' ? 1 : forced === undefined ? broken[state] : 0),
    0,
  );
  return all.length === 0 ? 0 : sum / all.length;
}
