import { defer, filter, finalize, map, merge, type Observable, of, repeat, take } from 'rxjs';

import type { HttpRequest, HttpResponse } from '../model/http.ts';
import { after } from '../operators/interop/after.ts';
import type { ClaimStore } from '../ports/claim-store.ts';
import type { Timers } from '../ports/clock.ts';
import type { Metrics } from '../ports/metrics.ts';

import { answerOf } from './answer-of.ts';
import { invalid, pending, stillGoing, unknowable, unknown } from './call-answers.ts';
import { RecentIds } from './recent-ids.ts';

/** What telling results needs. */
export interface ResultDeskOptions {
  readonly claims: ClaimStore;
  readonly timers: Timers;
  readonly metrics: Metrics;
  /** How long a client waits for a store, milliseconds. Default 5,000. */
  readonly patienceMs?: number;
  /** Clients that wait for answers; further ones are answered 202 at once. Default 1,000. */
  readonly maxWaiting?: number;
}

const firstLookMs = 25;
const longestLookMs = 200;

/** Tells what came of calls. */
export class ResultDesk {
  readonly #options: ResultDeskOptions;
  readonly #patienceMs: number;
  readonly #recent = new RecentIds(10_000);
  #waiting = 0;

  constructor(options: ResultDeskOptions) {
    this.#options = options;
    this.#patienceMs = options.patienceMs ?? 5_000;
    options.metrics.gauge('larkspur_ingress_waiting_clients', 'Clients that wait for an answer', [], () => [
      [{}, this.#waiting],
    ]);
  }

  /** A call of this id was stored here: until a worker begins it is on its way, not unknown. */
  begun(id: string): void {
    this.#recent.add(id);
  }

  /** What is known about the call in the path. */
  get({ params: { id = '' } }: HttpRequest): Observable<HttpResponse> {
    const { claims, timers } = this.#options;
    if (!/^[\x21-\x7e]{1,512}$/.test(id)) {
      return of(invalid([{ at: 'id', message: 'must be 1 to 512 visible ASCII characters' }], 400));
    }
    if (!claims.ready()) return of(unknowable(id));
    const late$ = after(timers, this.#patienceMs).pipe(map(() => unknowable(id)));
    const known$ = claims
      .view(id)
      .pipe(
        map(
          (view) => answerOf(id, view) ?? (view.kind !== 'unknown' || this.#recent.has(id) ? pending(id) : unknown(id)),
        ),
      );
    return merge(known$, late$).pipe(take(1));
  }

  /** The answer to the call that was accepted with `answer`; when there are too many who wait, that. */
  wait(answer: HttpResponse, waitMs: number): Observable<HttpResponse> {
    const { timers, maxWaiting = 1_000 } = this.#options;
    if (waitMs === 0 || this.#waiting >= maxWaiting) return of(answer);
    const { id } = JSON.parse(answer.body) as { readonly id: string };
    return defer(() => {
      this.#waiting++;
      const over$ = after(timers, waitMs).pipe(map(() => stillGoing(id)));
      return merge(this.#lookUntilEnded(id), over$).pipe(
        take(1),
        finalize(() => this.#waiting--),
      );
    });
  }

  /** Looks again and again, ever less often, until the call has ended. */
  #lookUntilEnded(id: string): Observable<HttpResponse> {
    const { claims, timers } = this.#options;
    return defer(() => claims.view(id)).pipe(
      map((view) => answerOf(id, view)),
      repeat({ delay: (count) => after(timers, Math.min(firstLookMs * 1.5 ** (count - 1), longestLookMs)) }),
      filter((answer) => answer !== undefined),
      take(1),
    );
  }
}
