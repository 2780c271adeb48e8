import { createHash } from 'node:crypto';

import { defer, map, merge, mergeMap, type Observable, of, take } from 'rxjs';

import { type HttpResponse, problemResponse } from '../model/http.ts';
import { isTree } from '../model/schema-words.ts';
import { after } from '../operators/interop/after.ts';
import type { Claim, ClaimReply, ClaimStore } from '../ports/claim-store.ts';
import type { Timers } from '../ports/clock.ts';

// Longer than a call may take to be stored.
const leaseMs = 15_000;
/** How long a key is known. */
const keyTtlMs = 86_400_000;

/** What came of a request; `final` unless a repeat is to do what was not taken. */
export interface Done {
  readonly answer: HttpResponse;
  readonly final: boolean;
}

/**
 * Lets a request with an `Idempotency-Key` be done once in 24 hours, at whichever process it comes again: a repeat gets the
 * answer that the first one got; 409 while that is under way, and for another body under the same key. A request that was
 * not taken leaves its key free.
 */
export class OncePerKey {
  readonly #claims: ClaimStore;
  readonly #timers: Timers;
  readonly #patienceMs: number;
  readonly #process: string;
  #requests = 0;

  /** @param claims of requests alone @param process names this process among all */
  constructor(claims: ClaimStore, timers: Timers, patienceMs: number, process: string) {
    this.#claims = claims;
    this.#timers = timers;
    this.#patienceMs = patienceMs;
    this.#process = process;
  }

  /** Emits once, then completes. @param key of the client and its request @param work$ does it; emits once */
  run(key: string, body: Buffer, work$: () => Observable<Done>): Observable<HttpResponse> {
    const fingerprint = createHash('sha256').update(body).digest('hex');
    const origin = `${this.#process}/${this.#requests++}`;
    const claimed$ = defer(() => this.#claims.claim({ id: key, origin, leaseMs, ttlMs: keyTtlMs, sent: false }));
    const late$ = after(this.#timers, this.#patienceMs).pipe(map(() => undefined));
    return merge(claimed$, late$).pipe(
      take(1),
      mergeMap((reply) => {
        if (reply === undefined) return of(unknowable());
        if (reply.kind !== 'granted') return of(repeated(reply, fingerprint));
        return work$().pipe(mergeMap((done) => this.#end({ id: key, fence: reply.fence }, done, fingerprint)));
      }),
    );
  }

  #end(claim: Claim, { answer, final }: Done, fingerprint: string): Observable<HttpResponse> {
    const result = final ? JSON.stringify({ fingerprint, answer }) : '';
    const finished$ = this.#claims.finish({
      ...{ claim, result, state: final ? 'PROCESSED' : 'FAILED' },
      ...{ delayMs: 0, ttlMs: final ? keyTtlMs : leaseMs },
    });
    // What was taken is told also when the store has gone meanwhile: the id of the call protects a repeat.
    return merge(finished$, after(this.#timers, this.#patienceMs)).pipe(
      take(1),
      map(() => answer),
    );
  }
}

function repeated(reply: Exclude<ClaimReply, { kind: 'granted' }>, fingerprint: string): HttpResponse {
  if (reply.kind !== 'processed') return conflict('A request with this Idempotency-Key is under way.', 1);
  const first: unknown = JSON.parse(reply.result);
  if (!isTree(first) || first['fingerprint'] !== fingerprint) {
    return conflict('This Idempotency-Key was used for another request. Use a new one.', undefined);
  }
  const answer = first['answer'] as HttpResponse;
  return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } };
}

function conflict(detail: string, retryAfterSeconds: number | undefined): HttpResponse {
  const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  return problemResponse({ status: 409, code: 'conflict', title: 'Not this way', detail, ...wait });
}

function unknowable(): HttpResponse {
  const detail = 'The store of Idempotency-Keys does not answer at present.';
  const title = 'Not known now';
  return problemResponse({ status: 503, code: 'redis_unavailable', title, detail, retryAfterSeconds: 5 });
}
