import type { Sandbox } from '../../sandbox/sandbox-api.ts';

import { repeats } from './progress.ts';
import type { Tally } from './tally.ts';
import type { Terminal } from './terminals.ts';

/** Median and 99th percentile, milliseconds; 0 of nothing. */
export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

/** What the run was like. A type and not an interface, so that it fits a report's figures. */
export type Figures = {
  readonly calls: number;
  readonly keys: number;
  readonly seed: number;
  readonly durationMs: number;
  readonly callsPerSecond: number;
  readonly results: Readonly<Record<string, number>>;
  readonly deadLetters: Readonly<Record<string, number>>;
  readonly attempts: number;
  readonly retries: number;
  readonly refusals: number;
  /** Repeats that the platform answered with the first effect instead of acting again. */
  readonly replays: number;
  /** Calls that should have changed something, by their results. */
  readonly writes: number;
  /** Changes in the sandbox's ledger; more than `writes` if the folder held calls of an earlier run. */
  readonly effects: number;
  readonly callMs: Quantiles;
  readonly attemptMs: Quantiles;
  readonly faults: Readonly<Record<string, number>>;
  /** Most starts in any second that the sandbox saw, and what it had to refuse because a quota was overrun. */
  readonly quota: { readonly perChat: number; readonly perApi: number; readonly overrun: number };
};

/** Gathers the figures of a run that has ended. */
export function figuresOf(
  run: {
    readonly calls: number;
    readonly keys: number;
    readonly writes: number;
    readonly seed: number;
    readonly durationMs: number;
  },
  terminals: readonly Terminal[],
  tally: Tally,
  sandbox: Sandbox,
): Figures {
  const { replays, faults, buckets, chats } = sandbox.stats();
  const inTopic = (name: string) => countBy(terminals.filter(({ topic }) => topic === name));
  return {
    ...run,
    durationMs: Math.round(run.durationMs),
    callsPerSecond: tenths(run.calls / (run.durationMs / 1_000)),
    results: inTopic('results'),
    deadLetters: inTopic('dead-letters'),
    attempts: tally.sum('larkspur_attempts_total'),
    ...repeats(tally),
    replays,
    effects: sandbox.effects(0).effects,
    callMs: quantiles(terminals.flatMap(({ totalMs }) => (totalMs === undefined ? [] : [totalMs]))),
    attemptMs: quantiles(terminals.flatMap(({ attemptsMs }) => attemptsMs)),
    faults,
    quota: {
      perChat: chats.maxPerSecond,
      perApi: Math.max(0, ...buckets.map(({ maxPerSecond }) => maxPerSecond)),
      overrun: chats.refusals + buckets.reduce((sum, { refusals }) => sum + refusals, 0),
    },
  };
}

/** Nearest-rank quantiles. */
export function quantiles(valuesMs: readonly number[]): Quantiles {
  const sorted = [...valuesMs].sort((a, b) => a - b);
  const at = (share: number): number => tenths(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0);
  return { p50: at(0.5), p99: at(0.99) };
}

function countBy(terminals: readonly Terminal[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { ending } of terminals) counts[ending] = (counts[ending] ?? 0) + 1;
  return counts;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
