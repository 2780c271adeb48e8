import { defer, map, type Observable, of, tap } from 'rxjs';

import type { ErrorCode } from '../../model/errors.ts';
import { type HttpRequest, type HttpResponse, jsonResponse, problemResponse } from '../../model/http.ts';
import type { ClaimStore } from '../../ports/claim-store.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { HttpRoute } from '../../ports/http-route.ts';
import type { Counter, Metrics } from '../../ports/metrics.ts';
import type { RecordSink } from '../../ports/record-sink.ts';

import { canBeVerified, type EventApp } from './event-app.ts';
import { EventIntake, type Taken } from './event-intake.ts';
import { eventRecord } from './event-record.ts';
import type { Window } from './freshness.ts';
import { type Delivery, openDelivery, type Refusal } from './open-delivery.ts';
import { type FeishuEvent, readEvent } from './read-event.ts';

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
  readonly clock: Clock;
  readonly timers: Timers;
  readonly metrics: Metrics;
  /** Names this process among all. */
  readonly process: string;
  /** Whether events can be stored at present; `false` answers 503 at once. */
  ready(): boolean;
}

const lateAfterMs = 600_000;
const maxBodyBytes = 1_048_576;

/**
 * The door for events: `POST /feishu/{app}/events`.
 *
 * 200 once the event stands on `events`, or did before; to a challenge, its text. 401 for what does not prove that it comes
 * from Feishu, 400 for what is no event of it, 404 for an app that is not configured or has nothing to verify with, 413 and
 * 415 for bodies that are too large or no JSON, 503 with `Retry-After` when the event could not be stored in time: Feishu
 * then delivers it again.
 */
export function eventRoutes(options: EventDoorOptions): readonly HttpRoute[] {
  const { apps, settings, clock, metrics } = options;
  const byId = new Map(apps.map((app) => [app.id, app]));
  const intake = new EventIntake(options.sink, options.claims, options.timers, options.process, settings);
  const events = metrics.counter('larkspur_ingress_events_total', 'Deliveries to the event door', ['app', 'outcome']);
  const withoutId = metrics.counter('larkspur_ingress_events_without_id_total', 'Events known by a hash', ['app']);
  gauges(metrics, intake);

  function post({ params, headers, body }: HttpRequest): Observable<HttpResponse> {
    const app = byId.get(params['app'] ?? '');
    if (app === undefined || !canBeVerified(app)) return of(noDoor());
    if (!isJson(headers['content-type'])) return of(counted(events, app.id, 'malformed', notJson()));
    const receivedAtMs = clock.wall();
    const delivery = openDelivery(app, { headers, body }, receivedAtMs, settings);
    if (delivery.kind === 'refused') return of(counted(events, app.id, delivery.why, refusal(delivery.why)));
    if (delivery.kind === 'challenge') {
      return of(counted(events, app.id, 'challenge', jsonResponse(200, { challenge: delivery.challenge })));
    }
    const event = eventOf(app, delivery);
    if (typeof event === 'string') return of(counted(events, app.id, event, refusal(event)));
    if (event.idIsHash) withoutId.add({ app: app.id });
    return store(app, event, headers, receivedAtMs);
  }

  function store(
    app: EventApp,
    event: FeishuEvent,
    headers: HttpRequest['headers'],
    receivedAtMs: number,
  ): Observable<HttpResponse> {
    if (!options.ready()) return of(counted(events, app.id, 'busy', answerTo('busy')));
    const late = receivedAtMs - (event.createdAtMs ?? receivedAtMs) > lateAfterMs;
    const record = eventRecord(event, { app: app.id, receivedAtMs, via: 'webhook', late, headers });
    return intake.take(claimIdOf(app.id, event), record).pipe(
      tap((taken) => {
        // Older than what is remembered: had it been here before, nobody would know.
        const old = receivedAtMs - (event.createdAtMs ?? receivedAtMs) > settings.dedupeMs;
        events.add({ app: app.id, outcome: taken === 'stored' && old ? 'stored-past-memory' : taken });
      }),
      map(answerTo),
    );
  }

  const door: HttpRoute = {
    method: 'POST',
    path: '/feishu/:app/events',
    open: true,
    maxBodyBytes,
    handle: (request) => defer(() => post(request)),
  };
  return [door];
}

/** Names an event over all apps, tenants and types: two apps in one group get the same `message_id`. */
function claimIdOf(app: string, { tenant, type, id }: FeishuEvent): string {
  return [app, tenant ?? '', type, id].map(encodeURIComponent).join('/');
}

function eventOf(app: EventApp, { body, text }: Extract<Delivery, { kind: 'body' }>): FeishuEvent | Refusal {
  const event = readEvent(body, text);
  if (event === undefined) return 'malformed';
  // Two apps may share a key, but not their events.
  return event.app === undefined || event.app === app.id ? event : 'wrong-app';
}

function isJson(contentType: string | undefined): boolean {
  return contentType === undefined || /^application\/(?:[\w.+-]+\+)?json(?:\s*;|\s*$)/i.test(contentType.trim());
}

function gauges(metrics: Metrics, intake: EventIntake): void {
  metrics.gauge('larkspur_ingress_unstored_events', 'Events taken and not yet durable', [], () => [[{}, intake.held]]);
  metrics.gauge('larkspur_ingress_unstored_event_bytes', 'Bytes of events taken and not yet durable', [], () => [
    [{}, intake.heldBytes],
  ]);
}

function counted(events: Counter, app: string, outcome: string, answer: HttpResponse): HttpResponse {
  events.add({ app, outcome });
  return answer;
}

function noDoor(): HttpResponse {
  const detail = 'No app of that id takes events here: it needs an encryptKey or a verificationToken in apps.';
  return problemResponse({ status: 404, code: 'not_found', title: 'Not found', detail });
}

function notJson(): HttpResponse {
  return problemResponse({ status: 415, code: 'bad_request', title: 'Not JSON', detail: 'Send application/json.' });
}

const unproved = 'The request does not prove that it comes from Feishu for this app.';
const refusals: Readonly<Record<Refusal, readonly [status: number, code: ErrorCode, detail: string]>> = {
  unsigned: [401, 'unauthorized', unproved],
  'wrong-signature': [401, 'unauthorized', unproved],
  'wrong-token': [401, 'unauthorized', unproved],
  'wrong-app': [401, 'unauthorized', unproved],
  replayed: [401, 'unauthorized', 'The signed timestamp is too old or too far ahead.'],
  plain: [400, 'bad_request', 'The app has an Encrypt Key: the body must be encrypted.'],
  undecryptable: [400, 'bad_request', 'The body cannot be decrypted.'],
  malformed: [400, 'bad_request', 'The body is no event of Feishu.'],
};

function refusal(why: Refusal): HttpResponse {
  const [status, code, detail] = refusals[why];
  return problemResponse({ status, code, title: 'Not taken', detail });
}

function answerTo(taken: Taken): HttpResponse {
  switch (taken) {
    case 'stored':
    case 'duplicate':
      return jsonResponse(200, {});
    case 'busy':
    case 'late': {
      const detail = 'The event could not be stored in time. Deliver it again.';
      return problemResponse({
        status: 503,
        code: 'sink_unavailable',
        title: 'Not stored',
        detail,
        retryAfterSeconds: 5,
      });
    }
    case 'too-large': {
      const detail = 'The event is larger than the topic takes.';
      return problemResponse({ status: 413, code: 'record_too_large', title: 'Too large', detail });
    }
  }
}
