import { seededRandom, VirtualTime } from '../../support/virtual-time.ts';

/** An upstream that takes `perSecond` calls, at most `burst` of them at once, and refuses the rest. */
export class LimitedServer {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #atMs = 0;
  /** Calls that it took, and that it refused. */
  taken = 0;
  refused = 0;

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
  }

  /** Whether it takes a call now. */
  call(nowMs: number): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#atMs) * this.#perSecond) / 1_000);
    this.#atMs = nowMs;
    const takes = this.#tokens >= 1;
    if (takes) {
      this.#tokens -= 1;
      this.taken++;
    } else {
      this.refused++;
    }
    return takes;
  }
}

/** How many of the calls went well, and what that took. */
export interface Outcome {
  readonly retriesPerCall: number;
  readonly refusals: number;
  readonly success: number;
  readonly seconds: number;
}

/** Wait before the n-th retry, n from 1. @param chance in [0, 1) */
export type Strategy = (n: number, chance: number) => number;

const baseMs = 1_000;
const capMs = 30_000;

/** As clients are commonly written. */
export const strategies: Readonly<Record<'fixed' | 'exponential' | 'jitter', Strategy>> = {
  fixed: () => 100,
  exponential: (n) => Math.min(capMs, baseMs * 2 ** (n - 1)),
  jitter: (n, chance) => chance * Math.min(capMs, baseMs * 2 ** (n - 1)),
};

/** All calls at once, each tried again by itself until it is taken or its attempts are used up; in virtual time. */
export function play(
  strategy: Strategy,
  server: LimitedServer,
  calls: number,
  attempts: number,
  seed: number,
): Outcome {
  const time = new VirtualTime();
  const random = seededRandom(seed);
  let good = 0;
  let made = 0;
  let open = calls;
  const attempt = (n: number): void => {
    made++;
    if (server.call(time.now())) good++;
    else if (n < attempts) {
      time.after(strategy(n, random.next()), () => attempt(n + 1));
      return;
    }
    open--;
  };
  for (let i = 0; i < calls; i++) attempt(1);
  while (open > 0) time.advance(1_000);
  return outcomeOf(made, server, good, calls, time.now());
}

export function outcomeOf(made: number, server: LimitedServer, good: number, calls: number, ms: number): Outcome {
  return {
    retriesPerCall: Math.round((made / calls - 1) * 1_000) / 1_000,
    refusals: server.refused,
    success: Math.round((good / calls) * 10_000) / 10_000,
    seconds: Math.round(ms / 1_000),
  };
}
