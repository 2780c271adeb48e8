/** Between what, and how fast, a width moves. */
export interface AdaptiveConcurrencyOptions {
  /** Never narrower; an integer >= 1. */
  readonly floor: number;
  /** Where it starts, and never wider; an integer >= floor. */
  readonly ceiling: number;
  /** What a timeout leaves of it; in (0, 1]. 1 pins it. */
  readonly decrease: number;
  /** Milliseconds from one widening to the next, and after a timeout to the first. */
  readonly raiseEveryMs: number;
}

/** How fast it moves unless told otherwise. */
export const adaptiveConcurrencyDefaults = { floor: 4, decrease: 0.9, raiseEveryMs: 2_000 } as const;

// From floor to ceiling in about a minute, however far apart they are.
const raises = 32;
// Many attempts that time out together are one piece of news.
const leastLeft = 0.5;

/**
 * How many calls an upstream gets at once: additive increase, multiplicative decrease. Each timeout takes a tenth, those of
 * attempts that were under way together never more than half. It widens only while half of it is used, a step at a time: what
 * nobody needs was not tried. The time of answers is not looked at: it differs by the question.
 */
export class AdaptiveConcurrency {
  readonly #options: AdaptiveConcurrencyOptions;
  readonly #step: number;
  #width: number;
  // The narrowest that the attempts may bring about that are under way since `#roundMs`.
  #roundFloor: number;
  #roundMs = -Infinity;
  #movedMs = -Infinity;

  /** Throws a RangeError for options out of range. */
  constructor(options: AdaptiveConcurrencyOptions) {
    const { floor, ceiling, decrease, raiseEveryMs } = options;
    if (!(Number.isInteger(floor) && floor >= 1)) throw new RangeError(`floor must be an integer >= 1, got ${floor}`);
    if (!(Number.isInteger(ceiling) && ceiling >= floor)) {
      throw new RangeError(`ceiling must be an integer >= floor, got ${ceiling}`);
    }
    if (!(decrease > 0 && decrease <= 1)) throw new RangeError(`decrease must be in (0, 1], got ${decrease}`);
    if (!(raiseEveryMs > 0)) throw new RangeError(`raiseEveryMs must be > 0, got ${raiseEveryMs}`);
    this.#options = options;
    this.#step = Math.max(1, ceiling / raises);
    this.#width = ceiling;
    this.#roundFloor = ceiling;
  }

  /** Calls at once at present; an integer between floor and ceiling. */
  get limit(): number {
    return Math.floor(this.#width);
  }

  /** Whether timeouts have made it narrower than its ceiling. */
  get narrowed(): boolean {
    return this.limit < this.#options.ceiling;
  }

  /** An attempt that began at `startedMs` found no answer in its time. */
  timedOut(startedMs: number, nowMs: number): void {
    const { floor, decrease } = this.#options;
    if (startedMs >= this.#roundMs) {
      this.#roundMs = nowMs;
      this.#roundFloor = Math.max(floor, this.#width * leastLeft);
    }
    this.#width = Math.max(this.#roundFloor, this.#width * decrease);
    this.#movedMs = nowMs;
  }

  /** An attempt was answered. @param inUse calls in flight, this one among them */
  answered(nowMs: number, inUse: number): void {
    const { ceiling, raiseEveryMs } = this.#options;
    if (this.#width >= ceiling || nowMs - this.#movedMs < raiseEveryMs || inUse * 2 < this.limit) return;
    this.#width = Math.min(ceiling, this.#width + this.#step);
    this.#movedMs = nowMs;
  }
}
