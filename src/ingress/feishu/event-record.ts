import type { Event } from '../../model/event.ts';
import type { OutRecord } from '../../model/record.ts';

import { openIdOf, subjectOf } from './event-subject.ts';
import type { FeishuEvent } from './read-event.ts';

/** What is known about an event's arrival. */
export interface Arrival {
  /** App whose door it came through. */
  readonly app: string;
  readonly receivedAtMs: number;
  readonly via: Event['via'];
  /** Whether it is more than ten minutes old. */
  readonly late: boolean;
  /** Request headers; only those that carry context are looked at. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The record of an event on `events`. Its key is what the event is about; without that the event's own id, which spreads
 * events that have no order. The body goes in as the text it came as, so no number loses digits. The open_id is the one in
 * the verified body, never one that a client sent.
 */
export function eventRecord(event: FeishuEvent, arrival: Arrival): OutRecord {
  const { id, type, tenant, createdAtMs = arrival.receivedAtMs } = event;
  const { app, receivedAtMs, via, late, headers } = arrival;
  const envelope: Omit<Event, 'body'> = {
    id,
    type,
    app,
    ...(tenant === undefined ? {} : { tenant }),
    createdAtMs,
    receivedAtMs,
    via,
    ...(late ? { late } : {}),
  };
  const context: Record<string, string | undefined> = {
    'x-request-id': headers['x-request-id'],
    'x-feishu-openid': openIdOf(event.event),
    traceparent: headers['traceparent'],
    tracestate: headers['tracestate'],
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: `/feishu/${app}`,
    ce_type: type,
    'content-type': 'application/json',
  };
  return {
    topic: 'events',
    key: Buffer.from(subjectOf(event.event) ?? id),
    value: Buffer.from(`${JSON.stringify(envelope).slice(0, -1)},"body":${event.text}}`),
    headers: Object.entries(context).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Buffer.from(value)] as const],
    ),
  };
}
