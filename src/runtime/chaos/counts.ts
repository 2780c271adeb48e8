import type { Labels } from '../../ports/metrics.ts';

import type { Samples } from './metric-text.ts';

/** What some upstreams have come to, as the metrics of one worker, or of all together, tell. */
export interface Counts {
  readonly live: number;
  readonly fallbacks: number;
  readonly deadLetters: number;
  readonly retries: number;
  readonly breakerOpenings: number;
  readonly faults: number;
  /** Calls that took at most so many milliseconds, growing. */
  readonly withinMs: ReadonlyMap<number, number>;
}

const names = {
  ended: 'larkspur_records_ended_total',
  retries: 'service_retry_total',
  openings: 'larkspur_breaker_changes_total',
  faults: 'larkspur_faults_injected_total',
  callMs: 'larkspur_call_seconds_bucket',
};

/** Sums up the metrics of a worker over the upstreams that are picked. */
export function countsOf(metrics: Samples, picks: (upstream: string) => boolean): Counts {
  const picked = (name: string) =>
    [...metrics.samples(name)].filter(([labels]) => picks(labels['upstream'] ?? labels['service'] ?? 'none'));
  const sum = (name: string, fits: (labels: Labels) => boolean = () => true): number =>
    picked(name).reduce((total, [labels, value]) => (fits(labels) ? total + value : total), 0);
  const withinMs = new Map<number, number>();
  for (const [labels, value] of picked(names.callMs)) {
    const le = labels['le'] === '+Inf' ? Infinity : Number(labels['le']) * 1_000;
    withinMs.set(le, (withinMs.get(le) ?? 0) + value);
  }
  const results = (reason: string): number =>
    sum(names.ended, ({ ending, reason: why }) => ending === 'result' && why === reason);
  return {
    live: results('ok') + results('duplicate'),
    fallbacks: results('fallback'),
    deadLetters: sum(names.ended, ({ ending }) => ending === 'dead-letter'),
    retries: sum(names.retries),
    breakerOpenings: sum(names.openings, ({ to }) => to === 'open'),
    faults: sum(names.faults),
    withinMs,
  };
}

const none: Counts = {
  ...{ live: 0, fallbacks: 0, deadLetters: 0, retries: 0, breakerOpenings: 0, faults: 0 },
  withinMs: new Map(),
};

/** What came between two looks at one worker. One that was restarted in between counts from 0 since then. */
export function between(before: Counts, after: Counts): Counts {
  const lost = combined(before, after, (then, now) => Math.max(0, then - now));
  const { withinMs, ...counts } = lost;
  const isRestarted = [...Object.values(counts), ...withinMs.values()].some((less) => less > 0);
  return combined(after, isRestarted ? none : before, (now, then) => now - then);
}

/** What came to all workers together. */
export function sumOf(workers: readonly Counts[]): Counts {
  return workers.reduce((sum, one) => combined(sum, one, (a, b) => a + b), none);
}

function combined(one: Counts, other: Counts, by: (a: number, b: number) => number): Counts {
  const limits = new Set([...one.withinMs.keys(), ...other.withinMs.keys()]);
  return {
    live: by(one.live, other.live),
    fallbacks: by(one.fallbacks, other.fallbacks),
    deadLetters: by(one.deadLetters, other.deadLetters),
    retries: by(one.retries, other.retries),
    breakerOpenings: by(one.breakerOpenings, other.breakerOpenings),
    faults: by(one.faults, other.faults),
    withinMs: new Map([...limits].map((le) => [le, by(one.withinMs.get(le) ?? 0, other.withinMs.get(le) ?? 0)])),
  };
}

/** A quantile in milliseconds, as precise as the buckets; NaN of nothing. */
export function quantileMs({ withinMs }: Counts, share: number): number {
  const buckets = [...withinMs].sort(([a], [b]) => a - b);
  const rank = share * (buckets.at(-1)?.[1] ?? 0);
  if (rank === 0) return NaN;
  let [lowMs, lowCount] = [0, 0];
  for (const [le, count] of buckets) {
    if (count >= rank) return le === Infinity ? lowMs : lowMs + ((le - lowMs) * (rank - lowCount)) / (count - lowCount);
    [lowMs, lowCount] = [le, count];
  }
  return NaN;
}
