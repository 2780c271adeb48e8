import type { Observable } from 'rxjs';

/** What a worker tells the others about the breaker of one of its upstreams. */
export type BreakerNews =
  | { readonly kind: 'opened'; readonly upstream: string; readonly key: string; readonly forMs: number }
  | { readonly kind: 'probed'; readonly upstream: string; readonly key: string; readonly good: boolean };

/**
 * How long no other probe of a breaker is given after one has ended. Declared probes are a second apart or more: whoever has not
 * heard of this one yet must not send another just after it.
 */
export const probeQuietMs = 500;

/** What workers share about the breakers that each of them has for itself. News that is lost costs a few calls, nothing else. */
export interface BreakerBus {
  /** What the others tell; hot, never ends, never errors. */
  readonly news$: Observable<BreakerNews>;
  /** Tells the others; completes in any case, also when nobody could be told. Never errors. */
  tell(news: BreakerNews): Observable<never>;
  /**
   * Emits once: whether this worker sends the declared probe of a breaker that is due now, since no other one is at it. One that
   * was told of keeps others away for {@link probeQuietMs} more, one that nobody told of for so long after its time. `true`, too,
   * when the others cannot be reached. Never errors. @param withinMs how long the probe may take
   */
  takeProbe(upstream: string, key: string, withinMs: number): Observable<boolean>;
}
