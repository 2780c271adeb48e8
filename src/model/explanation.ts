import type { Attempt } from './result.ts';

/** What a record waits for; each word has its paragraph in the README. */
export type WaitKind =
  | 'unread'
  | 'buffer'
  | 'order'
  | 'turn'
  | 'slot'
  | 'resource'
  | 'quota'
  | 'receiver-limit'
  | 'monthly-quota'
  | 'breaker'
  | 'paused'
  | 'retry'
  | 'claim'
  | 'token'
  | 'brake'
  | 'answer'
  | 'topic'
  | 'drain'
  | 'delay'
  | 'full-lane';

/** One thing that is waited for. */
export interface Wait {
  readonly what: WaitKind;
  /** Its name: upstream, bucket, breaker, key, topic. */
  readonly on: string;
  /** In plain words. */
  readonly why: string;
  /** What a person can do, if anything. */
  readonly cure: string;
  /** ISO 8601; absent: until something happens. */
  readonly since?: string;
  readonly until?: string;
  /** Records, or lanes, that are before it. */
  readonly ahead?: number;
}

/** How a record ended. */
export interface Ended {
  readonly as: 'result' | 'dead-letter';
  /** Status of the result, or reason of the dead letter. */
  readonly how: string;
  readonly why: string;
  readonly cure: string;
  /** Where it stands: `results/PARTITION/OFFSET`; absent when only its claim tells. */
  readonly at?: string;
}

/** Everything about one record: where it is, what it waits for and until when, what comes next, how it ended. */
export interface Explanation {
  /** As it was asked. */
  readonly ref: string;
  readonly where: 'unread' | 'buffer' | 'lane' | 'under-way' | 'elsewhere' | 'ended' | 'unknown';
  /** The answer in one sentence. */
  readonly summary: string;
  readonly id?: string;
  /** `TOPIC/PARTITION/OFFSET`. */
  readonly at?: string;
  readonly upstream?: string;
  readonly api?: string;
  /** What it has been through, in order of time. */
  readonly steps: readonly { readonly at: string; readonly what: string }[];
  /** What it waits for; then what that waits for, and so on to what holds it all up. */
  readonly waits: readonly Wait[];
  readonly attempts: readonly Attempt[];
  /** `of`: attempts that it has, where that is known. */
  readonly next?: { readonly attempt: number; readonly of?: number; readonly notBefore?: string };
  readonly deadline?: string;
  readonly ended?: Ended;
}
