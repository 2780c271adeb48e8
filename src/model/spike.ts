/** What the time of a call goes by with, in words that people and code share. Each moment of a call belongs to one of them. */
export const causes = [
  'queue',
  'order',
  'claim',
  'token',
  'limiter',
  'breaker',
  'slots',
  'retry',
  'server-errors',
  'network',
  'upstream',
  'write',
  'other',
] as const;

/** One of them. */
export type Cause = (typeof causes)[number];

/** Milliseconds by cause. */
export type CauseMs = Readonly<Record<Cause, number>>;

/** What calls that ended in some time add up to. */
export interface Sums {
  readonly calls: number;
  readonly totalMs: number;
  readonly causeMs: CauseMs;
  readonly attempts: number;
  /** Attempts that were answered with 5xx. */
  readonly serverErrors: number;
  /** Attempts that failed between this host and the upstream. */
  readonly networkErrors: number;
}

/** A call that took long. */
export interface SlowCall {
  readonly id: string;
  /** `TOPIC/PARTITION/OFFSET`. */
  readonly at: string;
  readonly upstream: string;
  readonly totalMs: number;
  /** What most of it went by with, and how much. */
  readonly cause: Cause;
  readonly causeMs: number;
  readonly traceId?: string;
}

/** What the kernel of the host counted in a minute; absent where it does not tell. */
export type HostCounts = Readonly<Record<string, number>>;

/** What a worker knows of a minute, and of the quieter half of the hour before it. */
export interface MinuteView {
  /** ISO 8601. */
  readonly minute: string;
  readonly at: Sums;
  readonly before: Sums & { readonly minutes: number };
  readonly slowest: readonly SlowCall[];
  readonly host?: { readonly at: HostCounts; readonly before: HostCounts };
}

/** A cause with what it adds to the time of a call, compared with before. */
export interface Rise {
  readonly cause: Cause;
  readonly ms: number;
  /** Of all that was added, 0 to 1. */
  readonly share: number;
}

/** What stood together in a minute, by how much of the rise it explains. */
export interface Spike extends MinuteView {
  /** Mean time of a call. */
  readonly meanMs: number;
  /** The same before; `undefined` where nothing is known of before. */
  readonly usualMs: number | undefined;
  /** The largest first; empty without a rise. */
  readonly rises: readonly Rise[];
}

/** Calls that are told by name, of one minute. */
export const slowestKept = 3;
// Less than this is how calls differ from each other.
const leastRiseMs = 1;

/** Nothing at all. */
export function noSums(): { -readonly [K in keyof Sums]: K extends 'causeMs' ? Record<Cause, number> : Sums[K] } {
  return { calls: 0, totalMs: 0, causeMs: noCauseMs(), attempts: 0, serverErrors: 0, networkErrors: 0 };
}

/** No time at all. Written out, because each call has one. */
export function noCauseMs(): Record<Cause, number> {
  return {
    queue: 0,
    order: 0,
    claim: 0,
    token: 0,
    limiter: 0,
    breaker: 0,
    slots: 0,
    retry: 0,
    'server-errors': 0,
    network: 0,
    upstream: 0,
    write: 0,
    other: 0,
  };
}

/** Both together. */
export function sumOf(all: readonly Sums[]): Sums {
  const sum = noSums();
  for (const one of all) {
    sum.calls += one.calls;
    sum.totalMs += one.totalMs;
    sum.attempts += one.attempts;
    sum.serverErrors += one.serverErrors;
    sum.networkErrors += one.networkErrors;
    for (const cause of causes) sum.causeMs[cause] += one.causeMs[cause];
  }
  return sum;
}

/** Views of the same minute by several workers as one. Of hosts that several workers share nobody knows, so they are left out. */
export function together(views: readonly MinuteView[]): MinuteView | undefined {
  const [first, ...others] = views;
  if (first === undefined || others.length === 0) return first;
  return {
    minute: first.minute,
    at: sumOf(views.map(({ at }) => at)),
    before: {
      ...sumOf(views.map(({ before }) => before)),
      minutes: Math.max(...views.map(({ before }) => before.minutes)),
    },
    slowest: slowestOf(views.flatMap(({ slowest }) => slowest)),
  };
}

/** The slowest of some calls, the slowest first. */
export function slowestOf(calls: readonly SlowCall[]): SlowCall[] {
  return [...calls].sort((a, b) => b.totalMs - a.totalMs).slice(0, slowestKept);
}

/** What a minute's calls took more time for than those before it. */
export function spikeOf(view: MinuteView): Spike {
  const { at, before } = view;
  const mean = (sums: Sums, ms: number): number => (sums.calls === 0 ? 0 : ms / sums.calls);
  const more = causes.map((cause) => ({
    cause,
    ms: mean(at, at.causeMs[cause]) - mean(before, before.causeMs[cause]),
  }));
  const risen = before.calls === 0 ? [] : more.filter(({ ms }) => ms >= leastRiseMs).sort((a, b) => b.ms - a.ms);
  const allMs = risen.reduce((sum, { ms }) => sum + ms, 0);
  return {
    ...view,
    meanMs: mean(at, at.totalMs),
    usualMs: before.calls === 0 ? undefined : mean(before, before.totalMs),
    rises: risen.map(({ cause, ms }) => ({ cause, ms, share: ms / allMs })),
  };
}
