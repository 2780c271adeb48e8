import type { Offered, Taken } from '../offer.ts';
import { quantile } from '../quantile.ts';

/** A load that jumps for a while: calls per second, and for how long. */
export interface Load {
  readonly before: { readonly perSecond: number; readonly ms: number };
  readonly during: { readonly perSecond: number; readonly ms: number };
  readonly after: { readonly perSecond: number; readonly ms: number };
}

/** How a contestant took it. Times are those of calls offered in that part. */
export interface Course {
  readonly p99BeforeMs: number;
  readonly p99DuringMs: number;
  readonly p99AfterMs: number;
  /** Seconds of the jump until a second is calm, and all that follow are; NaN where it never gets calm. */
  readonly calmAfterSeconds: number;
  readonly perSecondDuring: number;
  readonly errors: number;
  readonly lost: number;
  /** Attempts asked for per call. */
  readonly amplification: number;
  readonly rssMb: number;
}

const partsOf = ({ before, during, after }: Load) => [before, during, after];

/** Calls of the whole load. */
export function callsOf(load: Load): number {
  return dueIn(load, Infinity);
}

/** Calls that are due so long after the start. */
export function dueIn(load: Load, ms: number): number {
  let left = ms;
  let due = 0;
  for (const part of partsOf(load)) {
    due += (Math.max(0, Math.min(left, part.ms)) * part.perSecond) / 1_000;
    left -= part.ms;
  }
  return Math.round(due);
}

/**
 * @param calmMs a second is calm when 99 % of its calls were answered well within this
 * @param attempts asked for in all
 */
export function courseOf(load: Load, { ended, lost, rssMb }: Taken, attempts: number, calmMs: number): Course {
  const jumpMs = load.before.ms;
  const fallMs = jumpMs + load.during.ms;
  const between = (fromMs: number, toMs: number): Offered[] =>
    ended.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  const p99 = (calls: readonly Offered[]): number =>
    Math.round(
      quantile(
        calls.map(({ tookMs }) => tookMs),
        0.99,
      ),
    );
  const during = between(jumpMs, fallMs);
  const restless = new Set<number>();
  const seconds = Math.floor(load.during.ms / 1_000);
  for (let second = 0; second < seconds; second++) {
    const calls = between(jumpMs + second * 1_000, jumpMs + (second + 1) * 1_000);
    const good = calls.filter((call) => call.good && call.tookMs <= calmMs).length;
    if (!(good >= calls.length * 0.99)) restless.add(second);
  }
  const last = Math.max(-1, ...restless);
  const goodEnds = ended.filter(({ atMs, tookMs, good }) => good && atMs + tookMs >= jumpMs && atMs + tookMs < fallMs);
  return {
    p99BeforeMs: p99(between(0, jumpMs)),
    p99DuringMs: p99(during),
    p99AfterMs: p99(between(fallMs, Infinity)),
    calmAfterSeconds: last === seconds - 1 ? NaN : last + 1,
    perSecondDuring: Math.round((goodEnds.length * 1_000) / load.during.ms),
    errors: ended.filter(({ good }) => !good).length,
    lost,
    amplification: Math.round((attempts / (ended.length + lost)) * 100) / 100,
    rssMb,
  };
}
