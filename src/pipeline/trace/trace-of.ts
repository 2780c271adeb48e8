import { deadLetterHeaders } from '../../model/dead-letter.ts';
import { headerText, type InRecord } from '../../model/record.ts';
import { readTraceparent, type TraceContext, traceHeaders } from '../../model/trace-context.ts';
import type { Traces } from '../../operators/trace/traces.ts';

import { RecordTrace } from './record-trace.ts';

/** How a record came. */
export interface Came {
  /** Its name for ever: by it a trace that begins with the record is named, so that a second delivery is in the same one. */
  readonly origin: string;
  /** Monotonic: when it was read this time. */
  readonly readAtMs: number;
  /** Out of a delay topic: the span that put it there. */
  readonly held: string | undefined;
}

/**
 * The trace of a record, `undefined` where it is not kept. Whoever sent the record decides that, if it says so; else the one
 * who held it, or ended it before it was sent again; else chance.
 */
export function traceOf(record: InRecord, { origin, readAtMs, held }: Came, traces: Traces): RecordTrace | undefined {
  const { headers, topic, partition, offset, timestampMs } = record;
  const sent = readTraceparent(headerText(headers, traceHeaders.parent));
  if (sent?.sampled === false) return undefined;
  const before = readTraceparent(held);
  const ended = readTraceparent(headerText(headers, deadLetterHeaders.trace));
  // Most of what nobody sent a trace with is not kept, and costs nothing more than this.
  if (sent === undefined && before === undefined && ended === undefined && !traces.keeps(origin)) return undefined;
  const links = [before, ended].filter((one) => one !== undefined);
  const context = contextOf(sent ?? before, links, origin, traces);
  if (!context.sampled) return undefined;
  return new RecordTrace({
    traces,
    context,
    parentId: (sent ?? before)?.spanId,
    links,
    topic,
    readAtMs,
    attributes: {
      'messaging.system': traces.messaging.system,
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'process',
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': String(partition),
      'messaging.kafka.offset': offset,
      'messaging.consumer.group.name': traces.messaging.group,
      'larkspur.in_topic_ms': Math.max(0, Math.round(traces.epochMs(readAtMs) - timestampMs)),
    },
  });
}

function contextOf(
  parent: TraceContext | undefined,
  links: readonly TraceContext[],
  origin: string,
  traces: Traces,
): TraceContext {
  const context = traces.below(parent, origin);
  // What links to a trace that is kept is kept: else the story of the record would end there.
  return links.some(({ sampled }) => sampled) ? { ...context, sampled: true } : context;
}
