/**
 * By how much this process's clock is ahead of the log's, from when asks went out, when their answers came, and what the
 * log's clock was in between. Each answer bounds it from both sides, and the bounds of many are tight. Clocks that drift
 * or jump contradict what was known: then the latest answer alone counts.
 */
export class ClockOffset {
  #leastMs = -Infinity;
  #mostMs = Infinity;

  /** Takes in an answer. All in milliseconds. */
  heard(askedMs: number, answeredMs: number, logMs: number): void {
    this.#leastMs = Math.max(this.#leastMs, askedMs - logMs);
    this.#mostMs = Math.min(this.#mostMs, answeredMs - logMs);
    if (this.#leastMs <= this.#mostMs) return;
    this.#leastMs = askedMs - logMs;
    this.#mostMs = answeredMs - logMs;
  }

  /** The log's time on our clock, by the quickest way an answer took: a little late, and equally so each time. */
  ours(logMs: number): number {
    return logMs + this.#mostMs;
  }
}
