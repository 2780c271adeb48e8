import {
  catchError,
  concatMap,
  defer,
  defaultIfEmpty,
  EMPTY,
  filter,
  finalize,
  forkJoin,
  ignoreElements,
  isObservable,
  map,
  merge,
  mergeMap,
  type Observable,
  of,
  ReplaySubject,
  share,
  take,
} from 'rxjs';

import { checkCall } from '../../model/contracts.ts';
import type { Event } from '../../model/event.ts';
import { carriedHeaders } from '../../model/headers.ts';
import { type HttpResponse, jsonResponse, problemResponse } from '../../model/http.ts';
import type { OutRecord } from '../../model/record.ts';
import { answersCallbacks, callIdOf, type EventView, viewOfEvent, withApp } from '../../model/route.ts';
import { isTree } from '../../model/schema-words.ts';
import { after } from '../../operators/interop/after.ts';
import type { Timers } from '../../ports/clock.ts';
import type { EventRoutes } from '../../ports/event-routes.ts';
import type { RecordSink } from '../../ports/record-sink.ts';
import type { Acted, Route } from '../../ports/route.ts';

import type { Admitted } from './delivery-gate.ts';
import type { EventIntake } from './event-intake.ts';

/** Sends a call to its service once, at once; emits the body of a good answer as JSON, errors with what went wrong. */
export type AskService = (call: unknown) => Observable<unknown>;

/** What answering callbacks needs. */
interface CallbackDeskOptions {
  readonly routes: EventRoutes;
  ask(call: unknown): ReturnType<AskService>;
  readonly intake: EventIntake;
  readonly sink: RecordSink;
  readonly timers: Timers;
}

/** An answer to a callback, and what to count it as. */
interface Answered {
  readonly outcome: 'answered' | 'late-answer' | 'no-route' | 'failed' | 'busy';
  readonly response: HttpResponse;
}

// Feishu waits 3 s, the network is part of them.
const answerWithinMs = 2_500;
const mostOpen = 1_000;
/** Feishu takes the token of a card action for so long. */
const updateTtlMs = 30 * 60_000;

/**
 * Answers callbacks within 2.5 s, by the first route that fits. Each is answered, also one that was answered before.
 *
 * When the route takes longer, the answer is `{}` and what it says later becomes a call that updates the card, by the token
 * of the callback. Nobody waits for the copy of the callback on `events`, nor for the calls of a handler. A route that fails
 * makes 503: Feishu shows its user an error.
 */
export class CallbackDesk {
  readonly #options: CallbackDeskOptions;
  #open = 0;

  constructor(options: CallbackDeskOptions) {
    this.#options = options;
  }

  /** Callbacks whose route has not ended. */
  get open(): number {
    return this.#open;
  }

  /** Emits once within 2.5 s, then completes. Unsubscribing drops interest; the route goes on. */
  answer({ key, record }: Admitted): Observable<Answered> {
    const { intake, timers } = this.#options;
    if (this.#open >= mostOpen) return of({ outcome: 'busy', response: trouble('Too many callbacks are under way.') });
    let late = false;
    const view = viewOfEvent(JSON.parse(String(record.value)) as Event);
    this.#open++;
    const work$ = this.#run(view, record).pipe(
      mergeMap((answered) =>
        late && answered.answer !== undefined
          ? this.#update(view, answered.answer, record).pipe(map(() => answered))
          : of(answered),
      ),
      finalize(() => this.#open--),
      share({ connector: () => new ReplaySubject<Said>(1), resetOnRefCountZero: false }),
    );
    const inTime$ = work$.pipe(map(asAnswered));
    const late$ = after(timers, answerWithinMs).pipe(
      map((): Answered => {
        late = true;
        return { outcome: 'late-answer', response: jsonResponse(200, {}) };
      }),
    );
    const copied$ = intake.take(key, record).pipe(ignoreElements());
    return merge(copied$, inTime$, late$).pipe(take(1));
  }

  #run(view: EventView, record: OutRecord): Observable<Said> {
    const found$ = this.#options.routes.routesFor(view);
    return (isObservable(found$) ? found$ : of(found$)).pipe(
      mergeMap((routes) => routes.filter(({ spec }) => answersCallbacks(spec.to.kind))),
      concatMap((route) => route.fits(view).pipe(map((fit) => ({ route, fit })))),
      filter(({ fit }) => fit.kind !== 'differs'),
      take(1),
      mergeMap(({ route, fit }): Observable<Said> => {
        if (fit.kind === 'failed') return of({ outcome: 'failed', answer: undefined });
        return route
          .act(view, callIdOf(view, route.spec.name))
          .pipe(mergeMap((acted) => this.#said(route, acted, record, view.app)));
      }),
      defaultIfEmpty<Said, Said>({ outcome: 'no-route', answer: undefined }),
      catchError(() => of<Said>({ outcome: 'failed', answer: undefined })),
    );
  }

  #said({ spec }: Route, acted: Acted, record: OutRecord, app: string): Observable<Said> {
    if (acted.kind === 'failed') return of({ outcome: 'failed', answer: undefined });
    if (spec.to.kind === 'http') {
      return this.#options.ask(acted.calls[0]).pipe(map((answer): Said => ({ outcome: 'answered', answer })));
    }
    const said: Said = { outcome: 'answered', answer: acted.answer };
    const calls$ = acted.calls.map((call) => this.#produce(withApp(call, app), record));
    // Held by the sink until they are durable; the user is not kept waiting for it.
    return merge(of(said), calls$.length === 0 ? EMPTY : forkJoin(calls$).pipe(ignoreElements()));
  }

  #update({ event, ...view }: EventView, answer: unknown, record: OutRecord): Observable<unknown> {
    const card = cardIn(answer);
    if (card === undefined || typeof event['token'] !== 'string') return of(undefined);
    const call = {
      id: callIdOf(view, 'late-answer'),
      app: view.app,
      path: '/open-apis/interactive/v1/card/update',
      body: { token: event['token'], card },
      ttlMs: updateTtlMs,
    };
    return this.#produce(call, record);
  }

  #produce(call: unknown, { key, headers }: OutRecord): Observable<unknown> {
    return defer((): Observable<unknown> => {
      const checked = checkCall(call);
      if (!checked.ok) return of(undefined);
      const value = Buffer.from(JSON.stringify(checked.call));
      return this.#options.sink.append({ topic: 'calls', key, value, headers: carriedHeaders(headers) });
    });
  }
}

/** What a route came to. */
interface Said {
  readonly outcome: 'answered' | 'no-route' | 'failed';
  readonly answer: unknown;
}

function asAnswered({ outcome, answer }: Said): Answered {
  if (outcome === 'failed') return { outcome, response: trouble('What should answer the callback failed.') };
  return { outcome, response: jsonResponse(200, isTree(answer) ? answer : {}) };
}

/** The card of an answer, as the update takes it: of a raw one its data. */
function cardIn(answer: unknown): unknown {
  const card = isTree(answer) ? answer['card'] : undefined;
  if (!isTree(card)) return undefined;
  return card['type'] === 'raw' ? card['data'] : card;
}

function trouble(detail: string): HttpResponse {
  return problemResponse({ status: 503, code: 'no_answer', title: 'No answer', detail, retryAfterSeconds: 5 });
}
