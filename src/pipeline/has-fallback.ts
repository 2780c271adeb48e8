import { map, type Observable } from 'rxjs';

import { type Call, methodOf } from '../model/call.ts';
import { type Fallback, fallbackFor, remembersFor } from '../operators/fallback/fallback-for.ts';
import type { CachedAnswer } from '../ports/answer-cache.ts';

import type { Destination } from './destination.ts';

/** What a fallback is found by. The key is made once. */
export interface Asked {
  readonly call: Call;
  readonly destination: Destination;
  answerKey?: string | undefined;
}

/** The answer that would stand in for a live one, of what is known at once: declared, or remembered in this process. */
export function fallbackOf(asked: Asked): Fallback | undefined {
  const { call, destination } = asked;
  const { fallback, answers } = destination;
  if (fallback.off || call.fallback === false) return undefined;
  const cached = remembersFor(call.fallback, fallback, isRead(call)) ? answers.get(answerKey(asked)) : undefined;
  return fallbackFor(call.fallback, fallback, isRead(call), cached);
}

/**
 * Whether a call has an answer to give when its upstream has none: at once where that is known, else once the cache of
 * all replicas was asked. A cache that remembers nothing yet gives none.
 */
export function hasFallback(asked: Asked): boolean | Observable<boolean> {
  const { answers } = asked.destination;
  if (fallbackOf(asked)?.source === 'cache') return true;
  if (!mayFindMore(asked)) return fallbackOf(asked) !== undefined;
  return answers.lookUp(answerKey(asked)).pipe(map(() => fallbackOf(asked) !== undefined));
}

/** Whether it is worth coming to ask {@link hasFallback}: false where it is known that there is none. */
export function mayHaveFallback(asked: Asked): boolean {
  return fallbackOf(asked) !== undefined || mayFindMore(asked);
}

/** Whether the cache of all replicas may hold what this process does not know. */
function mayFindMore(asked: Asked): boolean {
  const { call, destination } = asked;
  if (!remembersFor(call.fallback, destination.fallback, isRead(call))) return false;
  return destination.answers.mayKnow(answerKey(asked));
}

/** Whether a call may be answered without asking its upstream: a read where that is declared, and nobody insists on a live answer. */
export function maySaveCall({ call, destination: { cacheMs } }: Asked): boolean {
  return cacheMs > 0 && call.fallback !== false && isRead(call);
}

/** The answer that makes a live one unnecessary, of what this process knows; of a call for which {@link maySaveCall} holds. */
export function freshAnswer(asked: Asked, wallMs: number): CachedAnswer | undefined {
  const answer = asked.destination.answers.get(answerKey(asked));
  if (answer === undefined) return undefined;
  // One from a time to come is of a clock that went back since: how old it is nobody knows. Those of others may be a little ahead.
  return Math.abs(wallMs - answer.storedAtMs) < asked.destination.cacheMs ? answer : undefined;
}

/** Whether a call's good answer is to be remembered, and for how long; 0: it is not. */
export function rememberMs(asked: Asked): number {
  const { call, destination } = asked;
  const saves = maySaveCall(asked) ? destination.cacheMs : 0;
  if (!remembersFor(call.fallback, destination.fallback, isRead(call))) return saves;
  return Math.max(saves, destination.fallback.cacheTtlMs > 0 ? destination.fallback.cacheTtlMs : wishedTtlMs);
}

// For a call that asks for "cached" at an upstream whose owner declared nothing.
const wishedTtlMs = 300_000;

/** Same question, same answer: who asks what, with which headers and body. */
export function answerKey(asked: Asked): string {
  const { app, tenant, as, path, query, headers, body } = asked.call;
  asked.answerKey ??= JSON.stringify([app, tenant, as, methodOf(asked.call), path, query, headers, body]);
  return asked.answerKey;
}

function isRead(call: Call): boolean {
  return methodOf(call) === 'GET';
}
