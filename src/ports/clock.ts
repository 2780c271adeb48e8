/** Where time comes from. `now` never goes back; `wall` is for records and people only. */
export interface Clock {
  /** Monotonic milliseconds, with fractions. */
  now(): number;
  /** Epoch milliseconds. */
  wall(): number;
}

/** The one source of timers. A virtual one drives the tests. */
export interface Timers {
  /** Runs `task` once after `ms` (0 or more; longer than 24 days is handled). Returns a function that cancels it. */
  after(ms: number, task: () => void): () => void;
}
