/** When something begins and when it is over. Exactly one of `above` and `below`. */
export interface TriggerOptions {
  readonly above?: number | undefined;
  readonly below?: number | undefined;
  /** How long the value must stay beyond the bound, milliseconds. */
  readonly forMs: number;
  /** Back at this value or better it may be over: a value between the two bounds changes nothing. */
  readonly clear: number;
  /** How long it must stay so. */
  readonly clearForMs: number;
  /** After so long it is over, whatever the value says; `Infinity`: never for that. */
  readonly mostMs: number;
  /** After an end nothing begins for so long. */
  readonly coolDownMs: number;
}

/** What a look came to. */
export type TriggerStep = 'begin' | 'end' | undefined;

/** Where a trigger stands: beyond its bound and not for long enough yet, begun, or over and resting. */
export type TriggerState = 'idle' | 'pending' | 'active' | 'cooling';

/**
 * Turns a measured value into a beginning and an end. It cannot flap: two bounds, a time for each, and a rest after each end.
 * Looks at what is given, reads no clock.
 */
export class Trigger {
  readonly #options: TriggerOptions;
  #active = false;
  /** Since when it is beyond the bound (idle), or back (active). */
  #sinceMs: number | undefined;
  #beganMs = 0;
  #restsUntilMs = -Infinity;

  constructor(options: TriggerOptions) {
    this.#options = options;
  }

  /** @param value `undefined`: nothing is known, which is neither beyond the bound nor back */
  look(value: number | undefined, nowMs: number): TriggerStep {
    const { forMs, clearForMs, coolDownMs, mostMs } = this.#options;
    if (this.#active && nowMs - this.#beganMs >= mostMs) {
      this.end(nowMs);
      return 'end';
    }
    const counts = this.#active ? this.#isBack(value) : this.#isBeyond(value);
    if (!counts) {
      this.#sinceMs = undefined;
      return undefined;
    }
    this.#sinceMs ??= nowMs;
    if (nowMs - this.#sinceMs < (this.#active ? clearForMs : forMs)) return undefined;
    if (!this.#active && nowMs < this.#restsUntilMs) return undefined;
    this.#sinceMs = undefined;
    this.#active = !this.#active;
    this.#beganMs = nowMs;
    if (this.#active) return 'begin';
    this.#restsUntilMs = nowMs + coolDownMs;
    return 'end';
  }

  /** Over by decision of a person: what is still beyond the bound begins anew only after the rest. */
  end(nowMs: number): void {
    this.#active = false;
    this.#sinceMs = undefined;
    this.#restsUntilMs = nowMs + this.#options.coolDownMs;
  }

  state(nowMs: number): TriggerState {
    if (this.#active) return 'active';
    if (nowMs < this.#restsUntilMs) return 'cooling';
    return this.#sinceMs === undefined ? 'idle' : 'pending';
  }

  #isBeyond(value: number | undefined): boolean {
    const { above, below } = this.#options;
    return value !== undefined && ((above !== undefined && value > above) || (below !== undefined && value < below));
  }

  #isBack(value: number | undefined): boolean {
    const { above, clear } = this.#options;
    return value !== undefined && (above === undefined ? value >= clear : value <= clear);
  }
}
