import { type HttpRequest, type HttpResponse, jsonResponse } from '../../model/http.ts';
import type { OutRecord } from '../../model/record.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Counter, Metrics } from '../../ports/metrics.ts';

import { noDoor, notJson, refusal } from './answers.ts';
import { canBeVerified, type EventApp } from './event-app.ts';
import { type Arrival, eventRecord } from './event-record.ts';
import type { Window } from './freshness.ts';
import { type Delivery, openDelivery, readBody, type Refusal } from './open-delivery.ts';
import { type FeishuEvent, readEvent } from './read-event.ts';

/** An event that has proved where it comes from. */
export interface Admitted {
  readonly kind: 'event';
  readonly app: string;
  readonly event: FeishuEvent;
  /** As it is to stand on `events`. */
  readonly record: OutRecord;
  /** Names it over all apps, tenants and types: two apps in one group get the same `message_id`. */
  readonly key: string;
  /** Since it was made, milliseconds. */
  readonly ageMs: number;
}

/** What goes no further, and what it is answered. */
interface Turned {
  readonly kind: 'answer';
  readonly answer: HttpResponse;
}

const lateAfterMs = 600_000;

/** What stands before every door of Feishu: it lets events through, and answers everything else. Counts what it answers. */
export class DeliveryGate {
  readonly #apps: ReadonlyMap<string, EventApp>;
  readonly #window: Window;
  readonly #clock: Clock;
  readonly #deliveries: Counter;
  readonly #withoutId: Counter;

  constructor(apps: readonly EventApp[], window: Window, clock: Clock, metrics: Metrics) {
    this.#apps = new Map(apps.map((app) => [app.id, app]));
    this.#window = window;
    this.#clock = clock;
    const labels = ['app', 'outcome'];
    this.#deliveries = metrics.counter('larkspur_ingress_events_total', 'Deliveries to the doors of Feishu', labels);
    this.#withoutId = metrics.counter('larkspur_ingress_events_without_id_total', 'Events known by a hash', ['app']);
  }

  /** Judges a request. */
  admit({ params, headers, body }: HttpRequest): Admitted | Turned {
    const app = this.#apps.get(params['app'] ?? '');
    if (app === undefined || !canBeVerified(app)) return { kind: 'answer', answer: noDoor() };
    if (!isJson(headers['content-type'])) return this.#answer(app.id, 'malformed', notJson());
    const receivedAtMs = this.#clock.wall();
    const delivery = openDelivery(app, { headers, body }, receivedAtMs, this.#window);
    if (delivery.kind === 'refused') return this.#answer(app.id, delivery.why, refusal(delivery.why));
    if (delivery.kind === 'challenge') {
      return this.#answer(app.id, 'challenge', jsonResponse(200, { challenge: delivery.challenge }));
    }
    return this.#event(app.id, delivery, { via: 'webhook', headers, receivedAtMs });
  }

  /** Judges what came over the long connection of an app: who opened that has proved itself. */
  admitLinked(app: string, payload: Buffer, requestId: string | undefined): Admitted | Turned {
    const body = readBody(payload);
    if (body === undefined) return this.#answer(app, 'malformed', refusal('malformed'));
    const headers: HttpRequest['headers'] = requestId === undefined ? {} : { 'x-request-id': requestId };
    return this.#event(app, body, { via: 'long-connection', headers, receivedAtMs: this.#clock.wall() });
  }

  #event(
    app: string,
    delivery: Extract<Delivery, { kind: 'body' }>,
    { receivedAtMs, via, headers }: Pick<Arrival, 'headers' | 'receivedAtMs' | 'via'>,
  ): Admitted | Turned {
    const event = eventOf(app, delivery);
    if (typeof event === 'string') return this.#answer(app, event, refusal(event));
    if (event.idIsHash) this.#withoutId.add({ app });
    const ageMs = receivedAtMs - (event.createdAtMs ?? receivedAtMs);
    const record = eventRecord(event, { app, receivedAtMs, via, late: ageMs > lateAfterMs, headers });
    const { tenant = '', type, id } = event;
    const key = [app, tenant, type, id].map(encodeURIComponent).join('/');
    return { kind: 'event', app, event, record, key, ageMs };
  }

  /** Counts how a delivery ended. @param outcome of a closed list */
  count(app: string, outcome: string): void {
    this.#deliveries.add({ app, outcome });
  }

  #answer(app: string, outcome: Refusal | 'challenge', answer: HttpResponse) {
    this.count(app, outcome);
    return { kind: 'answer', answer } as const;
  }
}

function eventOf(app: string, { body, text }: Extract<Delivery, { kind: 'body' }>): FeishuEvent | Refusal {
  const event = readEvent(body, text);
  if (event === undefined) return 'malformed';
  // Two apps may share a key, but not their events.
  return event.app === undefined || event.app === app ? event : 'wrong-app';
}

function isJson(contentType: string | undefined): boolean {
  return contentType === undefined || /^application\/(?:[\w.+-]+\+)?json(?:\s*;|\s*$)/i.test(contentType.trim());
}
