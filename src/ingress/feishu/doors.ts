import { defer, map, merge, mergeMap, type Observable, of, take, tap } from 'rxjs';

import type { HttpRequest, HttpResponse } from '../../model/http.ts';
import { callbackTypes } from '../../model/route.ts';
import { after } from '../../operators/interop/after.ts';
import type { ClaimStore } from '../../ports/claim-store.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { EventRoutes } from '../../ports/event-routes.ts';
import type { HttpRoute } from '../../ports/http-route.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { RecordFinder } from '../../ports/record-finder.ts';
import type { RecordSink } from '../../ports/record-sink.ts';

import { answerTo } from './answers.ts';
import { type AskService, CallbackDesk } from './callback-desk.ts';
import { type Admitted, DeliveryGate } from './delivery-gate.ts';
import type { EventApp } from './event-app.ts';
import { EventIntake, type Taken } from './event-intake.ts';
import type { EventNotes } from './event-notes.ts';
import type { Window } from './freshness.ts';
import type { FeishuEvent } from './read-event.ts';

/** What may be set for the doors of Feishu. */
export interface EventDoorSettings extends Window {
  /** How long an event is known, milliseconds. */
  readonly dedupeMs: number;
  /** How long a delivery waits for its event to be durable, milliseconds. */
  readonly patienceMs: number;
  /** Events not yet durable; further ones are answered 503. */
  readonly maxHeld: number;
  /** The same in bytes. */
  readonly maxHeldBytes: number;
}

/** What the doors of Feishu need. */
export interface EventDoorOptions {
  readonly apps: readonly EventApp[];
  readonly settings: EventDoorSettings;
  readonly sink: RecordSink;
  /** Of events alone: their ids are not those of calls. */
  readonly claims: ClaimStore;
  readonly finder: RecordFinder;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly metrics: Metrics;
  /** Those that lead to an answer serve callbacks. */
  readonly routes: EventRoutes;
  /** Asks the service of a route. */
  ask(call: unknown): ReturnType<AskService>;
  /** Names this process among all. */
  readonly process: string;
  /** Takes note of what concerns the house itself. */
  readonly notes: EventNotes;
  /** Whether events can be stored at present; `false` answers 503 at once. */
  ready(): boolean;
}

/** The ways in. */
export interface FeishuDoors {
  readonly routes: readonly HttpRoute[];
  /**
   * Takes what came over the long connection of an app, an event or a callback; emits the answer that it would have had over
   * HTTP, once, then completes.
   * @param requestId goes with the event from here on
   */
  take(app: string, payload: Buffer, requestId: string | undefined): Observable<HttpResponse>;
}

const maxBodyBytes = 1_048_576;

/**
 * The doors of Feishu. `POST /feishu/{app}/events` answers 200 once the event stands on `events`, or did before;
 * `POST /feishu/{app}/callbacks` with what a route says, see {@link CallbackDesk}.
 *
 * Both answer a challenge with its text; 401 to what does not prove that it comes from Feishu, 400 to what is no event of it,
 * 404 for an app that is not configured or has nothing to verify with, 413 and 415 to bodies that are too large or no JSON.
 * 503 with `Retry-After` when an event could not be stored in time: Feishu then delivers it again.
 */
export function feishuDoors(options: EventDoorOptions): FeishuDoors {
  const { settings, metrics } = options;
  const gate = new DeliveryGate(options.apps, settings, options.clock, metrics);
  const intake = new EventIntake(options, settings);
  const desk = new CallbackDesk({ ...options, intake });
  gauges(metrics, intake, desk);

  function takeEvent(request: HttpRequest): Observable<HttpResponse> {
    const admitted = gate.admit(request);
    return admitted.kind === 'answer' ? of(admitted.answer) : store(admitted);
  }

  function store({ app, event, key, record, ageMs }: Admitted): Observable<HttpResponse> {
    const take$ = defer(() => (options.ready() ? intake.take(key, record) : of('busy' as const)));
    return noted(app, event, take$).pipe(
      tap((taken) => {
        // Older than what is remembered: had it been here before, nobody would know.
        const old = taken === 'stored' && ageMs > settings.dedupeMs;
        gate.count(app, old ? 'stored-past-memory' : taken);
      }),
      map(answerTo),
    );
  }

  /** Puts the event on its topic, unless it is for the house alone; it counts as late when that cannot be noted in time. */
  function noted(app: string, event: FeishuEvent, take$: Observable<Taken>): Observable<Taken> {
    const note$ = options.notes.take(app, event);
    if (note$ === undefined) return take$;
    const late$ = after(options.timers, settings.patienceMs).pipe(map(() => undefined));
    return merge(note$, late$).pipe(
      take(1),
      mergeMap((ended) => (ended === undefined ? of('late' as const) : ended ? of('stored' as const) : take$)),
    );
  }

  function takeCallback(request: HttpRequest): Observable<HttpResponse> {
    const admitted = gate.admit(request);
    if (admitted.kind === 'answer') return of(admitted.answer);
    // What is for the house alone is no callback, wherever it is delivered.
    if (options.notes.take(admitted.app, admitted.event) !== undefined) return store(admitted);
    return answer(admitted);
  }

  function answer(admitted: Admitted): Observable<HttpResponse> {
    return desk.answer(admitted).pipe(
      map(({ outcome, response }) => {
        gate.count(admitted.app, outcome);
        return response;
      }),
    );
  }

  const common = { method: 'POST', open: true, maxBodyBytes } as const;
  const events: HttpRoute = {
    ...common,
    path: '/feishu/:app/events',
    handle: (request) => defer(() => takeEvent(request)),
  };
  const callbacks: HttpRoute = {
    ...common,
    path: '/feishu/:app/callbacks',
    handle: (request) => defer(() => takeCallback(request)),
  };
  return {
    routes: [events, callbacks],
    take(app, payload, requestId) {
      return defer(() => {
        const admitted = gate.admitLinked(app, payload, requestId);
        if (admitted.kind === 'answer') return of(admitted.answer);
        return callbackTypes.has(admitted.event.type) ? answer(admitted) : store(admitted);
      });
    },
  } satisfies FeishuDoors;
}

function gauges(metrics: Metrics, intake: EventIntake, desk: CallbackDesk): void {
  metrics.gauge('larkspur_ingress_unstored_events', 'Events taken and not yet durable', [], () => [[{}, intake.held]]);
  metrics.gauge('larkspur_ingress_unstored_event_bytes', 'Bytes of events taken and not yet durable', [], () => [
    [{}, intake.heldBytes],
  ]);
  metrics.gauge('larkspur_ingress_open_callbacks', 'Callbacks whose route has not ended', [], () => [[{}, desk.open]]);
}
