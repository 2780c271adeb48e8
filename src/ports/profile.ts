import type { Call } from '../model/call.ts';
import type { DeadLetterReason } from '../model/dead-letter.ts';
import type { Exchange, Verdict } from '../model/outcome.ts';

import type { TokenNeed } from './token-source.ts';
import type { UpstreamRequest } from './upstream.ts';

/** A rate that the upstream allows: at most `limit` starts in any half-open window of `windowMs`. */
export interface RateWindow {
  readonly limit: number;
  readonly windowMs: number;
}

/** A bucket of quota that a call draws from. */
export interface LimitKey {
  readonly key: string;
  /** Each holds by itself. None: the bucket only carries cool-downs. */
  readonly windows: readonly RateWindow[];
  /** All buckets of one call share it, so that one step can decide on all of them; default: the key. */
  readonly group?: string;
  /** Bounded name of the bucket for metrics; a bucket without one is not shown. */
  readonly label?: string;
}

/** What may be done after an unknown outcome: repeat freely, repeat with the platform's key inside its window, or never. */
export type Repeat =
  | { readonly kind: 'always' | 'never' }
  | {
      readonly kind: 'keyed';
      readonly windowMs: number;
      /** The key is only known under the token it came with. */
      readonly perToken?: true;
    };

/**
 * How a call goes in one request with others: its API has one that gives many of the same. Pure; only for calls that may be
 * repeated freely, because the request has no key of its own.
 */
export interface BatchForm {
  /** Calls of one shape can go together: they differ in nothing but what they ask for. */
  readonly shape: string;
  /** Most calls in one request. */
  readonly most: number;
  /** Which of the plan's buckets is that of the API that gives many. */
  readonly limitKey: string;
  /** What this call asks for. */
  readonly item: string;
  /** The request for all of them; without authorization, as {@link CallPlan.request}. */
  compose(items: readonly string[]): UpstreamRequest;
  /**
   * Splits a good answer: what each would have been answered by itself, in the order of `items`. `undefined` where the
   * answer does not tell: such a call has to be made by itself.
   */
  split(exchange: Exchange, items: readonly string[]): readonly (Exchange | undefined)[];
}

/** All that is known about a call before its first attempt; the same on every replica and after every restart. */
export interface CallPlan {
  /** Bounded label of the API, e.g. `POST /open-apis/im/v1/messages`. */
  readonly api: string;
  /** Part of the platform that the API belongs to, where its error codes mean different things in different ones. */
  readonly service?: string | undefined;
  /** Which breaker watches it: host and API group. */
  readonly breakerKey: string;
  /** The group of APIs that has numbers of its own; absent: none. */
  readonly group?: string | undefined;
  /** Buckets it draws from; the first is the one a refusal without a better hint cools down. */
  readonly limits: readonly LimitKey[];
  readonly repeat: Repeat;
  /** Resource on which the upstream takes one call at a time (a table, a folder, a card), where it has one. */
  readonly serial?: string | undefined;
  readonly token: TokenNeed | undefined;
  /** How it goes with others while quota is short; absent: by itself, always. */
  readonly batch?: BatchForm | undefined;
  /**
   * Complete but for authorization and per-attempt headers; holds the platform's idempotency key, derived from the id.
   * Built anew, and the same, each time it is asked for: thousands of calls wait, few are under way. A function, because an
   * object literal with a getter is a slow dictionary to the engine.
   */
  readonly request: () => UpstreamRequest;
}

/** A call that cannot be planned: which reason it ends for, and why. */
export interface Unplannable {
  readonly reason: Extract<DeadLetterReason, 'invalid_call' | 'unroutable'>;
  readonly at: string;
  readonly message: string;
}

/** Which calls are of a group of APIs. */
export interface GroupRule {
  readonly name: string;
  /** Whether a call with this path, whose API has this documented tier, is one of them. */
  has(path: string, tier: readonly RateWindow[]): boolean;
}

/** What the pipeline must know about one kind of upstream. Pure and synchronous: no I/O, no clock. */
export interface Profile {
  plan(call: Call, id: string): CallPlan | Unplannable;
  /**
   * Judges one attempt. Total: any exchange gives a verdict. An unknown outcome is `ambiguous` whatever the API allows;
   * what may be repeated is the plan's business.
   * @param wallMs epoch milliseconds, for HTTP dates in Retry-After
   */
  classify(exchange: Exchange, plan: CallPlan, wallMs: number): Verdict;
}
