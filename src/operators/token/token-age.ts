import type { Random } from '../../ports/random.ts';

/** When a token was obtained and when it ends, monotonic milliseconds. Lifetimes are read from the answer, never assumed. */
export interface TokenLife {
  readonly obtainedAtMs: number;
  readonly expiresAtMs: number;
}

const minuteMs = 60_000;
// The platform hands out the same tenant token while at least 30 minutes remain, a new one below that.
const aheadMs = 29 * minuteMs;
const aheadSpread = 4 / 29;
const hardLimitMs = 3 * minuteMs;
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;

/**
 * When to fetch the next token while this one still serves: when 29 min - U(0, 4 min) remain, spread so that replicas do
 * not ask together. A token that lives for less than two hours is refreshed in its last quarter, spread likewise.
 */
export function refreshAtMs(token: TokenLife, random: Random): number {
  const leadMs = Math.min(aheadMs, lifetimeMs(token) / 4);
  return token.expiresAtMs - leadMs * (1 - aheadSpread * random.next());
}

/**
 * Whether a call may start with this token: 3 minutes must remain, or a tenth of the life of a token that lives for less
 * than half an hour, so that it does not end under way.
 */
export function usable(token: TokenLife, nowMs: number): boolean {
  return token.expiresAtMs - nowMs > Math.min(hardLimitMs, lifetimeMs(token) / 10);
}

/** How long nobody asks again after so many failed refreshes in a row (>= 1): 1 s, doubling, at most 30 s. */
export function refreshPauseMs(failures: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(Math.max(failures - 1, 0), 30));
}

function lifetimeMs({ obtainedAtMs, expiresAtMs }: TokenLife): number {
  return Math.max(0, expiresAtMs - obtainedAtMs);
}
