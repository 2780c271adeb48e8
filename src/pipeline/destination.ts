import type { Cover } from '../model/cover.ts';
import type { BreakerRegistry } from '../operators/breaker/breaker-registry.ts';
import type { AdaptiveConcurrency } from '../operators/bulkhead/adaptive-concurrency.ts';
import type { Bulkhead } from '../operators/bulkhead/bulkhead.ts';
import type { FallbackOptions } from '../operators/fallback/options.ts';
import type { SharedLimiter } from '../operators/limit/shared-limiter.ts';
import type { RetryBudget } from '../operators/retry/retry-budget.ts';
import type { RetryPlan } from '../operators/retry/retry-plan.ts';
import type { TargetView } from '../operators/targets/target-choice.ts';
import type { AnswerCache } from '../ports/answer-cache.ts';
import type { HealthProbe } from '../ports/health-probe.ts';
import type { CallPlan, Profile } from '../ports/profile.ts';
import type { TokenSource } from '../ports/token-source.ts';
import type { Upstream } from '../ports/upstream.ts';

import type { DeadLetterBrake } from './dead-letter-brake.ts';
import type { HealthCheck } from './health/health-state.ts';
import type { OwnOperators } from './own-operators.ts';
import type { Slots } from './slots.ts';

/** What answers when there is no live answer, and when. */
export interface FallbackPolicy extends FallbackOptions {
  /** A call with a fallback gets it for the failure that follows so many failed attempts, instead of trying on. */
  readonly afterAttempts: number;
}

/**
 * One upstream with everything that protects it and us: a room of its own, so that what happens to it stays in it.
 * Decisions only; the sockets are behind {@link Upstream}.
 */
export interface Destination {
  readonly name: string;
  /** Its name, for a group of its APIs with that of the group behind it: what has slots of its own. */
  readonly place: string;
  /** Groups of its APIs, by name: the same upstream with numbers of their own. */
  readonly groups: ReadonlyMap<string, Destination>;
  readonly profile: Profile;
  readonly upstream: Upstream;
  /** How its addresses are, where it has several; else empty. */
  targets(nowMs: number): readonly (TargetView & { readonly url: string })[];
  /** `undefined` for upstreams that take no token. */
  readonly tokens: TokenSource | undefined;
  readonly limiter: SharedLimiter;
  /** What of its answers is kept from results and messages. */
  readonly cover: Cover;
  /** How many attempts may be made at once: timeouts narrow it, answers widen it again. */
  readonly width: AdaptiveConcurrency;
  /** A place for each of them. */
  readonly slots: Slots;
  /** `undefined` for `breaker: off`. */
  readonly breakers: BreakerRegistry | undefined;
  /** Sent while a breaker is open. `undefined`: calls themselves find out whether the upstream is back. */
  readonly probe: HealthProbe | undefined;
  /** Asked from time to time how it is, for who looks at it. `undefined`: nobody asks. */
  readonly health: HealthCheck | undefined;
  /** `undefined` for `retry: off`: one attempt. */
  readonly retry: RetryPlan | undefined;
  budget(breakerKey: string): RetryBudget;
  readonly brake: DeadLetterBrake;
  /** What its owner adds to each attempt; `undefined`: nothing. */
  readonly own: OwnOperators | undefined;
  readonly answers: AnswerCache;
  readonly fallback: FallbackPolicy;
  /** How long a good answer to a read serves later ones without a call, milliseconds; 0: not at all. */
  readonly cacheMs: number;
  /** Longest time of one attempt, milliseconds. */
  readonly attemptMs: number;
  /** Another number whenever breakers, retry, fallback or times were replaced by others. */
  readonly policies: number;
  /** Bulk calls that come at a full or half hour are spread over so long after it, milliseconds; 0: they are not. */
  readonly bulkSpreadMs: number;
  /** Turns out at once per quota bucket. */
  readonly bucketLimit: number;
  /**
   * Turns that are out for this upstream, from the lane to the end of the attempt. A few more than there are slots, so
   * that a slot never waits for a claim.
   */
  readonly working: Bulkhead;
}

/** Where a call is made: at its upstream, or at the group of APIs that it is of. */
export function atGroup(destination: Destination, { group }: Pick<CallPlan, 'group'>): Destination {
  return (group === undefined ? undefined : destination.groups.get(group)) ?? destination;
}

/** All that have slots of their own: upstreams, each with its groups behind it. */
export function placesOf(destinations: ReadonlyMap<string, Destination>): Destination[] {
  return [...destinations.values()].flatMap((destination) => [destination, ...destination.groups.values()]);
}
