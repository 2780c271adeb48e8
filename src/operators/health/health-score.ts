/** What was measured at an upstream over the last minute. */
export interface HealthReading {
  readonly attempts: number;
  /** Calls for it that are here and have not ended. */
  readonly waiting: number;
  /** Attempts that count against it: not refusals by a limit, not what was wrong with the call. */
  readonly failed: number;
  /** Attempts that it refused for a limit. */
  readonly refused: number;
  /** Attempts that took more than 800 ms. */
  readonly slow: number;
  /** How long the oldest call for it has waited in this worker. */
  readonly oldestWaitMs: number;
  /** 0: all of its breakers are closed, 1: all are open. */
  readonly brokenShare: number;
  /** Since its last good answer, while calls wait for one; else 0. */
  readonly silentMs: number;
}

/** What a score is made of. */
export type HealthPart = 'errors' | 'latency' | 'breaker' | 'lag' | 'freshness' | 'refusals';

/** How a part is judged: nothing is lost up to `fine`, all of `points` from `bad` on, in between in proportion. */
interface PartRule {
  readonly points: number;
  readonly fine: number;
  readonly bad: number;
}

/** The weights, 100 points in all. Shares are 0 to 1, `lag` and `freshness` milliseconds. */
export const healthRules: Readonly<Record<HealthPart, PartRule>> = {
  errors: { points: 30, fine: 0.01, bad: 0.5 },
  latency: { points: 20, fine: 0.01, bad: 0.5 },
  breaker: { points: 20, fine: 0, bad: 1 },
  lag: { points: 10, fine: 10_000, bad: 600_000 },
  freshness: { points: 10, fine: 10_000, bad: 300_000 },
  refusals: { points: 10, fine: 0.01, bad: 0.2 },
};

/** A part, what was measured, and what it cost. */
export interface PartScore {
  readonly part: HealthPart;
  /** A share, or milliseconds. */
  readonly value: number;
  /** Points lost, 0 to the weight of the part. */
  readonly lost: number;
}

/** 0 to 100, and why it is not 100. */
export interface HealthScore {
  /** With one decimal. */
  readonly score: number;
  readonly parts: readonly PartScore[];
}

// One failure among two calls says little.
const fewAttempts = 5;

/** How well an upstream is, 0 to 100: 100 less what each part costs, see {@link healthRules}. Without traffic nothing is held against it. */
export function healthScore(reading: HealthReading): HealthScore {
  const share = (count: number): number => count / Math.max(reading.attempts, fewAttempts);
  const values: Readonly<Record<HealthPart, number>> = {
    errors: share(reading.failed),
    latency: share(reading.slow),
    breaker: reading.brokenShare,
    lag: reading.oldestWaitMs,
    freshness: reading.silentMs,
    refusals: share(reading.refused),
  };
  const parts = (Object.keys(healthRules) as HealthPart[]).map((part) => {
    const { points, fine, bad } = healthRules[part];
    return { part, value: values[part], lost: points * between(values[part], fine, bad) };
  });
  return { score: oneDecimal(parts.reduce((left, { lost }) => left - lost, 100)), parts };
}

/** How a machine is: shares of time in which somebody waited, or of what there is that is used. `undefined`: not told. */
export type HostReading = Readonly<Record<string, number | undefined>>;

const hostPoints = 20;
const hostFine = 0.3;
const hostBad = 0.95;

/** 0: the machine is well, 1: it is what makes calls slow. The worst of its shares, nothing up to 30 %. */
export function hostSickness(host: HostReading): number {
  const shares = Object.values(host).filter((share) => share !== undefined);
  return between(Math.max(0, ...shares), hostFine, hostBad);
}

/**
 * One number for all: the mean of the upstreams' scores, each weighted with what is asked of it (its attempts of the last minute and
 * the calls that wait for it, at least one), less up to 20 points for a machine that has too much to do.
 */
export function overallScore(
  upstreams: readonly { readonly score: number; readonly asked: number }[],
  host: HostReading,
): number {
  const weightOf = ({ asked }: { readonly asked: number }): number => Math.max(1, asked);
  const weights = upstreams.reduce((sum, one) => sum + weightOf(one), 0);
  const sum = upstreams.reduce((total, one) => total + one.score * weightOf(one), 0);
  const mean = weights === 0 ? 100 : sum / weights;
  return oneDecimal(Math.max(0, mean - hostPoints * hostSickness(host)));
}

/** 0 at `fine` or better, 1 at `bad` or worse. */
function between(value: number, fine: number, bad: number): number {
  return Math.min(1, Math.max(0, (value - fine) / (bad - fine)));
}

function oneDecimal(value: number): number {
  return Math.round(value * 10) / 10;
}
