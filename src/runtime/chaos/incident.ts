import { stringify } from 'yaml';

import type { RawScenario } from '../../config/schema-scenario.ts';
import type { RawConfig } from '../../config/schema.ts';
import type { InjectedKind } from '../../model/injected-fault.ts';
import type { Attempt } from '../../model/result.ts';
import { isoTime } from '../../model/time.ts';

/** One attempt of the time in question. */
export interface SeenAttempt extends Attempt {
  readonly upstream: string;
}

type RawFault = RawScenario['faults'][number];

/** Where an incident lies. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

// A replay of a day would take a day: longer incidents are told faster.
const longestMs = 60_000;
const slices = 20;
const kept = ['concurrency', 'timeouts', 'retry', 'breaker', 'fallback', 'limits'] as const;

/**
 * A scenario out of what the attempts of a time tell: per upstream and kind of failure its share and its span, and what the answers took
 * longer than before. `undefined`: nothing failed.
 * @param upstreams as they are configured, for their policies; addresses and headers are left out
 */
export function scenarioOf(
  name: string,
  span: Span,
  attempts: readonly SeenAttempt[],
  upstreams: RawConfig['upstreams'] = {},
): RawScenario | undefined {
  const lengthMs = Math.max(1, span.toMs - span.fromMs);
  const scale = Math.min(1, longestMs / lengthMs);
  const within = attempts
    .map((attempt) => ({ ...attempt, atMs: Date.parse(attempt.started) }))
    .filter(({ atMs }) => atMs >= span.fromMs && atMs < span.toMs);
  const byUpstream = grouped(within, ({ upstream }) => upstream);
  const faults = [...byUpstream].flatMap(([upstream, of]) => faultsOf(upstream, of, span, scale));
  if (faults.length === 0) return undefined;
  const hurt = [...new Set(faults.flatMap(({ match }) => match?.upstream ?? []))];
  const perSecond = Math.max(5, Math.min(100, Math.round((within.length / lengthMs) * 1_000)));
  const seconds = Math.min(lengthMs, longestMs) / 1_000;
  return {
    name,
    hypothesis: 'What happened then loses no call, does none twice, and hurts no other upstream.',
    incident: `Recorded from ${isoTime(span.fromMs)} to ${isoTime(span.toMs)}: ${within.length} attempts.${
      scale < 1 ? ` Times are ${Math.round(1 / scale)} times as fast.` : ''
    }`,
    blastRadius: { upstreams: hurt, mostMs: Math.round(2 * seconds * 1_000) },
    upstreams: Object.fromEntries(hurt.map((upstream) => [upstream, policiesOf(upstreams[upstream] ?? {})])),
    load: { calls: Math.max(20, Math.round(perSecond * seconds)), perSecond, keys: 20 },
    faults,
    expect: [
      { figure: 'faults', atLeast: 1 },
      { figure: 'answeredShare', atLeast: 1 },
      { figure: 'outsideAnsweredShare', atLeast: 1 },
    ],
  };
}

/** The text of a scenario file. */
export function scenarioText(scenario: RawScenario): string {
  return stringify(scenario, { lineWidth: 110, singleQuote: true });
}

type Timed = SeenAttempt & { readonly atMs: number };

function faultsOf(upstream: string, attempts: readonly Timed[], { fromMs, toMs }: Span, scale: number): RawFault[] {
  const timed = (kind: InjectedKind, of: Span, more: Partial<RawFault>): RawFault => ({
    ...{ kind, match: { upstream }, ...more },
    afterMs: Math.max(0, Math.round((of.fromMs - fromMs) * scale)),
    forMs: Math.max(1_000, Math.round((of.toMs - of.fromMs) * scale)),
  });
  const failures = grouped(
    attempts.filter((attempt) => kindOf(attempt) !== undefined),
    (attempt) => kindOf(attempt),
  );
  const found = [...failures].flatMap(([kind, of]) => {
    if (kind === undefined) return [];
    const span = spanOf(of);
    const all = attempts.filter(({ atMs }) => atMs >= span.fromMs && atMs <= span.toMs).length;
    const rate = Math.max(0.001, Math.round((of.length / all) * 1_000) / 1_000);
    // What may have acted is the hard case.
    return [timed(kind, span, { rate, ...(kind === 'timeout' || kind === 'reset' ? { acts: true } : {}) })];
  });
  const slow = slowness(attempts, { fromMs, toMs });
  // First what fails, by its share; what is left is late.
  return slow === undefined ? found : [...found, timed('latency', slow, { delayMs: slow.delayMs })];
}

/** From the first to the last of them; they may be more than a function takes as arguments. */
function spanOf(attempts: readonly Timed[]): Span {
  return attempts.reduce(
    ({ fromMs, toMs }, { atMs }) => ({ fromMs: Math.min(fromMs, atMs), toMs: Math.max(toMs, atMs) }),
    { fromMs: Infinity, toMs: -Infinity },
  );
}

function kindOf({ class: verdict, status, message = '' }: Attempt): InjectedKind | undefined {
  if (verdict === 'rate-limited' || status === 429) return '429';
  if (status !== undefined && status >= 500) return '503';
  if (status !== undefined || verdict === 'success' || verdict === 'duplicate') return undefined;
  if (/reset|socket|closed|EPIPE/i.test(message)) return 'reset';
  return verdict === 'ambiguous' || verdict === 'retryable' ? 'timeout' : undefined;
}

/** From the first to the last slice whose good answers took twice as long as those of the fastest one, and 50 ms longer. */
function slowness(attempts: readonly Timed[], { fromMs, toMs }: Span): (Span & { delayMs: number }) | undefined {
  const widthMs = (toMs - fromMs) / slices;
  const medians = Array.from({ length: slices }, (_, index) => {
    const begin = fromMs + index * widthMs;
    const took = attempts
      .filter(({ class: verdict, atMs }) => verdict === 'success' && atMs >= begin && atMs < begin + widthMs)
      .map(({ ms }) => ms)
      .sort((a, b) => a - b);
    return took.length < 3 ? NaN : (took[Math.floor(took.length / 2)] ?? NaN);
  });
  const usual = Math.min(...medians.filter((median) => !Number.isNaN(median)));
  const isSlow = (median: number): boolean => median > usual * 2 && median > usual + 50;
  const first = medians.findIndex(isSlow);
  if (first < 0) return undefined;
  const last = medians.findLastIndex(isSlow);
  const added = medians.filter(isSlow).map((median) => median - usual);
  const delayMs = Math.round(added.reduce((sum, ms) => sum + ms, 0) / added.length);
  return { fromMs: fromMs + first * widthMs, toMs: fromMs + (last + 1) * widthMs, delayMs };
}

function policiesOf(raw: NonNullable<RawConfig['upstreams']>[string]): NonNullable<RawScenario['upstreams']>[string] {
  return Object.fromEntries(kept.flatMap((key) => (raw[key] === undefined ? [] : [[key, raw[key]]])));
}

function grouped<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
