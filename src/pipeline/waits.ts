/** What a call waits for, in words that people and metrics share. */
export const waitReasons = [
  'upstream-slots',
  'rate-limit',
  'half-hour',
  'breaker',
  'paused',
  'retry',
  'claim',
  'token',
  'brake',
  'order',
  'full-lane',
] as const;

/** One of them. */
export type WaitReason = (typeof waitReasons)[number];

/** What a call under way asks for before its attempt: the right to act, a token, a slot, quota that is counted elsewhere. */
export type StageName = 'claim' | 'token' | 'slot' | 'limit';

/** A wait that is over. */
export interface Waited {
  readonly what: WaitReason;
  readonly ms: number;
}

/** A wait that began in an earlier life of a call, before it was read from a delay topic. */
export interface LongWait {
  /** Monotonic. */
  readonly untilMs: number;
  /** The same on the broker's clock, epoch milliseconds. */
  readonly epochMs: number;
  /** Steps in delay topics so far. */
  readonly hop: number;
}
