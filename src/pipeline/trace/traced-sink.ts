import type { Observable } from 'rxjs';

import { deadLetterHeaders } from '../../model/dead-letter.ts';
import { tierOf } from '../../model/delay-topics.ts';
import { headerText, type OutRecord } from '../../model/record.ts';
import { readTraceparent, type TraceContext, traceHeaders, traceparentOf } from '../../model/trace-context.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import type { Traces } from '../../operators/trace/traces.ts';
import type { Ack, RecordSink } from '../../ports/record-sink.ts';

/**
 * A sink that adds a span to what it writes for a trace that is kept, and hands that span on in the record's header. Records
 * that only pass through keep their headers as they came: those of a delay topic, and dead letters that are sent again.
 */
export function tracedSink(sink: RecordSink, traces: Traces): RecordSink {
  return {
    append(record) {
      const header = headerFor(record);
      const parent = header === undefined ? undefined : readTraceparent(headerText(record.headers, header));
      return header === undefined || parent?.sampled !== true
        ? sink.append(record)
        : send(record, header, parent, sink, traces);
    },
    flush: () => sink.flush(),
    trouble: (topic) => sink.trouble(topic),
  } satisfies RecordSink;
}

/** Where the span of a record stands; `undefined`: it passes through. */
function headerFor({ topic, headers }: OutRecord): string | undefined {
  if (topic === 'dead-letters') return deadLetterHeaders.trace;
  const again = headers.some(([name]) => name === deadLetterHeaders.round);
  return again || tierOf(topic) !== undefined ? undefined : traceHeaders.parent;
}

function send(
  record: OutRecord,
  header: string,
  parent: TraceContext,
  sink: RecordSink,
  traces: Traces,
): Observable<Ack> {
  const context = traces.below(parent);
  const text = Buffer.from(traceparentOf(context));
  const headers = record.headers.map((one) => (one[0] === header ? ([header, text] as const) : one));
  const fromMs = traces.nowMs();
  return andThen(sink.append({ ...record, headers }), (ack) => {
    const { topic } = record;
    const written = ack.kind === 'written';
    traces.end({
      name: `send ${topic}`,
      kind: 'producer',
      context,
      parentId: parent.spanId,
      startMs: traces.epochMs(fromMs),
      endMs: traces.epochMs(traces.nowMs()),
      attributes: {
        'messaging.system': traces.messaging.system,
        'messaging.operation.type': 'send',
        'messaging.operation.name': 'send',
        'messaging.destination.name': topic,
        'messaging.destination.partition.id': written ? String(ack.partition) : undefined,
        'messaging.kafka.offset': written ? ack.offset : undefined,
        'messaging.message.body.size': record.value?.length ?? 0,
        'error.type': written ? undefined : ack.kind,
      },
      links: [],
      error: written ? undefined : ack.kind,
    });
    return ack;
  });
}
