/** One partition's buffer, for metrics and explain. */
export interface RingStats<P> {
  readonly partition: P;
  readonly items: number;
  readonly bytes: number;
  readonly paused: boolean;
  /** Why it is paused: `watermark`, `total`, and the reasons given to `hold`. */
  readonly reasons: readonly string[];
}
