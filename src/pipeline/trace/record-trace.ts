import { namesFrom, type TraceContext, traceparentOf } from '../../model/trace-context.ts';
import type { Traces } from '../../operators/trace/traces.ts';
import type { Span, SpanAttributes, SpanKind } from '../../ports/tracer.ts';

/** What is known of a record's trace when it is read. */
export interface RecordTraceStart {
  readonly traces: Traces;
  /** Its own span; the id may still be given by its claim. */
  readonly context: TraceContext;
  readonly parentId: string | undefined;
  readonly links: readonly TraceContext[];
  /** Logical name of the topic that it was read from. */
  readonly topic: string;
  /** Monotonic. */
  readonly readAtMs: number;
  readonly attributes: SpanAttributes;
}

/** A part of what becomes of a record. Times are monotonic milliseconds. */
interface Part {
  readonly name: string;
  readonly kind: SpanKind;
  readonly spanId: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly attributes: SpanAttributes;
  readonly error?: string | undefined;
}

// A stage that took less was none: most calls wait for nothing.
const leastStageMs = 0.1;
// A call that waits for hours, for this and for that, does not grow without bound.
const mostParts = 100;

/**
 * The spans of one record, from when it is read until its end is durable. Only kept traces have one: whoever has none
 * does nothing. A part is handed on when it is over, so that what was done before a crash is known after it.
 */
export class RecordTrace {
  readonly #start: RecordTraceStart;
  #context: TraceContext;
  readonly #links: TraceContext[];
  /** Until its span has its final name. */
  #early: Part[] | undefined = [];
  /** What makes an epoch time of a monotonic one. */
  readonly #epochMs: number;
  #parts = 0;

  constructor(start: RecordTraceStart) {
    this.#start = start;
    this.#context = start.context;
    this.#links = [...start.links];
    this.#epochMs = start.traces.epochMs(0);
  }

  get traceId(): string {
    return this.#context.traceId;
  }

  /** The record's own span, for those that come after it. */
  get context(): TraceContext {
    this.#name();
    return this.#context;
  }

  /** The same as a header. */
  get traceparent(): string {
    return traceparentOf(this.context);
  }

  /**
   * The claim on its call was granted. Fences name a delivery, so whoever takes a call over from one that vanished can name
   * the span of that one, and links to it: it may be missing, because its process died with it, but what it had done is there.
   */
  granted(id: string, fence: number, tookOver: boolean): void {
    if (this.#early === undefined) return;
    this.#context = { ...this.#context, spanId: spanIdOf(id, fence) };
    if (tookOver) this.#links.push({ ...this.#context, spanId: spanIdOf(id, fence - 1) });
    this.#name();
  }

  /** Something that took time is over. */
  stage(name: string, fromMs: number, toMs: number): void {
    if (toMs - fromMs < leastStageMs) return;
    this.#end({ name, kind: 'internal', spanId: this.#start.traces.newSpanId(), fromMs, toMs, attributes: {} });
  }

  /** An attempt begins: its span, for the request. */
  attempt(): TraceContext {
    return { ...this.context, spanId: this.#start.traces.newSpanId() };
  }

  /** That attempt is over. */
  attempted({ spanId }: TraceContext, part: Omit<Part, 'kind' | 'spanId'>): void {
    this.#end({ ...part, kind: 'client', spanId });
  }

  /** The record has come to its end, or leaves for a delay topic. */
  ended(atMs: number, { attributes, error }: Pick<Span, 'attributes' | 'error'>): void {
    const { traces, parentId, readAtMs, topic, attributes: first } = this.#start;
    const leftOut = this.#parts - mostParts;
    traces.end({
      name: `process ${topic}`,
      kind: 'consumer',
      context: this.context,
      parentId,
      startMs: this.#epochMs + readAtMs,
      endMs: this.#epochMs + atMs,
      attributes: { ...first, ...attributes, 'larkspur.spans_left_out': leftOut > 0 ? leftOut : undefined },
      links: this.#links,
      error,
    });
  }

  #end(part: Part): void {
    if (++this.#parts > mostParts) return;
    if (this.#early === undefined) this.#hand(part);
    else this.#early.push(part);
  }

  /** From now on the name of its span stays what it is: it stands in others. */
  #name(): void {
    const early = this.#early;
    if (early === undefined) return;
    this.#early = undefined;
    for (const part of early) this.#hand(part);
  }

  #hand({ name, kind, attributes, spanId, fromMs, toMs, error }: Part): void {
    const { traceId, sampled } = this.#context;
    this.#start.traces.end({
      name,
      kind,
      attributes,
      context: { traceId, spanId, sampled },
      parentId: this.#context.spanId,
      startMs: this.#epochMs + fromMs,
      endMs: this.#epochMs + toMs,
      links: [],
      error,
    });
  }
}

function spanIdOf(id: string, fence: number): string {
  return namesFrom(`span ${id} ${fence}`).spanId;
}
