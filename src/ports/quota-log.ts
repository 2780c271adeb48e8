import type { Observable } from 'rxjs';

import type { LimitKey } from './profile.ts';

/** Asks for starts. */
export interface QuotaAsk {
  /** The buckets that each of the starts draws from; all of one group. */
  readonly limits: readonly LimitKey[];
  /** How many starts are wanted; asked right before the request goes out. */
  readonly want: () => number;
  /** How long it may wait for others to go with, milliseconds; default 0. Where all must wait, few round trips matter more. */
  readonly patienceMs?: number;
  /**
   * Starts may be granted so far ahead, milliseconds, where the first of the limits decides; where there are more calls than
   * starts they are spread evenly then. Default: none ahead, and none is spread.
   */
  readonly aheadMs?: number;
}

/** What a log knows of a bucket. */
export interface BucketView {
  readonly key: string;
  /** Milliseconds until its cool-down ends, 0 for none. */
  readonly coolMs: number;
  /** Learned share of the configured limits, in [0.1, 1]. */
  readonly factor: number;
  /** Starts in each of its windows at present, those granted ahead included. */
  readonly taken: readonly number[];
}

/** What came of an ask. */
export interface QuotaAnswer {
  readonly kind: 'answer';
  /** From 0 to what was wanted. Each holds in all of the buckets. */
  readonly granted: number;
  /** A name for each, to give it back. */
  readonly stamps: readonly number[];
  /** When each may be made, in milliseconds from `logMs` on; not falling. */
  readonly inMs: readonly number[];
  /** The log's clock when it answered, milliseconds. */
  readonly logMs: number;
  /** Milliseconds until one more could start; 0: now. */
  readonly waitMs: number;
  /** Which bucket decides the wait; `''` when nothing waits. */
  readonly key: string;
  /** As many as there are limits in the ask, in their order. */
  readonly buckets: readonly BucketView[];
}

/** An answer, or that the log cannot be reached. */
export type QuotaReply = QuotaAnswer | { readonly kind: 'away' };

/** An upstream's refusal. */
export interface QuotaRefusal {
  readonly limit: LimitKey;
  /** The bucket rests for so long from now; a shorter rest than the present one changes nothing. */
  readonly coolMs: number;
  /** How long ago the call started that was refused, milliseconds. */
  readonly agoMs: number;
}

/** What is known about all who share a log. */
export interface QuotaFleet {
  /** Processes that were heard of in the last minute, this one included; 0: not known yet. */
  readonly replicas: number;
  /** Another one means that the log has lost what it held. */
  readonly epoch: string;
}

/**
 * The log of grants that all replicas share: who may start, in which bucket, and when.
 *
 * Promises: no half-open window of any bucket ever holds more grants than its limit times the learned factor; a start is
 * granted by all of its buckets or by none; cool-downs only grow; the log's own clock decides, never the caller's.
 * Asks made in the same moment travel together. Every ask is answered once, within the time limit of the connection, with
 * `away` when the log does not answer; nothing errors. Unsubscribing gives back what is granted later.
 */
export interface QuotaLog {
  take(ask: QuotaAsk): Observable<QuotaReply>;
  /** Grants that were not used. */
  giveBack(limits: readonly LimitKey[], stamps: readonly number[]): void;
  /** Writes down grants that were made while the log was away. @param agoMs how long ago each was, oldest first */
  record(limit: LimitKey, agoMs: readonly number[]): void;
  /** Tells all replicas. Emits the bucket as it is then, or nothing when the log is away. */
  refused(refusal: QuotaRefusal): Observable<BucketView>;
  /** Sets who is told that a bucket rests, for how many milliseconds: what other processes heard from an upstream. */
  onRest?(tell: (key: string, restMs: number) => void): void;
  /** Whether it can be asked at present. */
  ready(): boolean;
  fleet(): QuotaFleet;
}
