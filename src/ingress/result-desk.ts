import { defer, filter, finalize, map, merge, mergeMap, NEVER, type Observable, of, repeat, take } from 'rxjs';

import type { HttpRequest, HttpResponse } from '../model/http.ts';
import { after } from '../operators/interop/after.ts';
import { everLessOften } from '../operators/interop/ever-less-often.ts';
import type { CancelBus } from '../ports/cancel-bus.ts';
import type { ClaimStore } from '../ports/claim-store.ts';
import type { Timers } from '../ports/clock.ts';
import type { Metrics } from '../ports/metrics.ts';

import { answerOf } from './answer-of.ts';
import {
  cancelled,
  endedBefore,
  outOfOrder,
  pending,
  stillGoing,
  unknowable,
  unknown,
  unreadableId,
} from './call-answers.ts';
import { idOf } from './clients.ts';
import { RecentIds } from './recent-ids.ts';

/** What telling results needs. */
export interface ResultDeskOptions {
  readonly cancels: CancelBus;
  readonly claims: ClaimStore;
  readonly timers: Timers;
  readonly metrics: Metrics;
  /** How long a cancelled id is remembered, milliseconds. Default a week. */
  readonly cancelTtlMs?: number;
  /** How long a client waits for a store, milliseconds. Default 5,000. */
  readonly patienceMs?: number;
  /** Clients that wait for answers; further ones are answered 202 at once. Default 1,000. */
  readonly maxWaiting?: number;
  /** Whoever waits hears once it emits how the call has ended, or that it goes on: it will not end here. Default: never. */
  readonly nobodyCalls$?: Observable<unknown>;
}

/** An upstream that is out, and for how long from now, milliseconds. */
export interface Outlook {
  readonly upstream: string;
  readonly forMs: number;
}

const claimTtlMs = 7 * 86_400_000;

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
  get(request: HttpRequest): Observable<HttpResponse> {
    return this.#about(request, (id) =>
      this.#options.claims
        .view(id)
        .pipe(
          map(
            (view) =>
              answerOf(id, view) ?? (view.kind !== 'unknown' || this.#recent.has(id) ? pending(id) : unknown(id)),
          ),
        ),
    );
  }

  /** Nobody wants the call in the path any more: the store remembers it and all workers are told, unless it has ended. */
  cancel(request: HttpRequest): Observable<HttpResponse> {
    const { claims, cancels, cancelTtlMs = claimTtlMs } = this.#options;
    return this.#about(request, (id) =>
      claims.cancel(id, cancelTtlMs).pipe(
        mergeMap((found) => {
          if (found === 'ended') return of(endedBefore(id));
          // Of a call that nobody is at the store tells whoever asks for it; the others only save a wait.
          const status = found === 'kept' ? 'cancelled' : 'cancelling';
          return cancels
            .tell(id)
            .pipe(map((told) => (told || found === 'kept' ? cancelled(id, status) : unknowable(id))));
        }),
      ),
    );
  }

  /** What `ask` gives for the call in the path, while the store answers in time. */
  #about({ params, client }: HttpRequest, ask$: (id: string) => Observable<HttpResponse>): Observable<HttpResponse> {
    const { claims, timers } = this.#options;
    const given = params['id'] ?? '';
    if (!/^[\x21-\x7e]{1,512}$/.test(given)) return of(unreadableId());
    const id = idOf(client, given);
    if (!claims.ready()) return of(unknowable(id));
    const late$ = after(timers, this.#patienceMs).pipe(map(() => unknowable(id)));
    return merge(ask$(id), late$).pipe(take(1));
  }

  /**
   * The answer to the call that was accepted with `answer`; when there are too many who wait, that.
   * @param outlook tells of an upstream that is out: where that lasts longer than the wait, there is none
   */
  wait(
    answer: HttpResponse,
    waitMs: number,
    outlook: (id: string) => Outlook | undefined = () => undefined,
  ): Observable<HttpResponse> {
    const { claims, timers, maxWaiting = 1_000, nobodyCalls$ = NEVER } = this.#options;
    if (waitMs === 0 || this.#waiting >= maxWaiting) return of(answer);
    const { id } = JSON.parse(answer.body) as { readonly id: string };
    return defer(() => {
      this.#waiting++;
      const over$ = after(timers, waitMs).pipe(map(() => stillGoing(id)));
      // It may have ended since somebody looked; a store that is away must not hold up the end.
      const left$ = nobodyCalls$.pipe(
        mergeMap(() => merge(claims.view(id), after(timers, this.#patienceMs).pipe(map(() => undefined)))),
        map((view) => (view === undefined ? undefined : answerOf(id, view)) ?? stillGoing(id)),
      );
      const out = (): HttpResponse | undefined => {
        const seen = outlook(id);
        return seen === undefined || seen.forMs < waitMs ? undefined : outOfOrder(id, seen.upstream, seen.forMs);
      };
      return merge(this.#lookUntilEnded(id, out), over$, left$).pipe(
        take(1),
        finalize(() => this.#waiting--),
      );
    });
  }

  /** Looks again and again, ever less often, until the call has ended, or no end is to be expected. */
  #lookUntilEnded(id: string, out: () => HttpResponse | undefined): Observable<HttpResponse> {
    const { claims, timers } = this.#options;
    return defer(() => claims.view(id)).pipe(
      map((view) => answerOf(id, view) ?? out()),
      repeat(everLessOften(timers)),
      filter((answer) => answer !== undefined),
      take(1),
    );
  }
}
