import { type Attributes, type HrTime, type Link, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';

import type { TraceContext } from '../../model/trace-context.ts';
import type { Span } from '../../ports/tracer.ts';

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const satisfies Record<Span['kind'], SpanKind>;

const none: readonly never[] = [];
const scope = { name: 'larkspur' };

/** A span as the exporter reads it. Attributes without a value are none. */
export function readSpan(span: Span, resource: Resource): ReadableSpan {
  const { name, kind, context, parentId, startMs, endMs, links, error } = span;
  const own = contextOf(context);
  return {
    name,
    kind: kinds[kind],
    spanContext: () => own,
    ...(parentId === undefined ? {} : { parentSpanContext: { ...own, spanId: parentId } }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    duration: hrTime(Math.max(0, endMs - startMs)),
    status: error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
    attributes: attributesOf(span),
    links: links.map((link): Link => ({ context: contextOf(link) })),
    events: [...none],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function attributesOf({ attributes }: Span): Attributes {
  const told: Attributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) told[name] = value;
  }
  return told;
}

function contextOf({ traceId, spanId, sampled }: TraceContext) {
  return { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE };
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}
