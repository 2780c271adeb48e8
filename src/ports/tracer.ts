import type { TraceContext } from '../model/trace-context.ts';

/** What a span is to its trace, in OpenTelemetry's words. */
export type SpanKind = 'server' | 'client' | 'producer' | 'consumer' | 'internal';

/** Facts about a span. Names from configuration, closed lists, numbers, ids of calls: never a body, a token, a raw path. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** A span that is over, as plain data. Times are epoch milliseconds, with fractions. */
export interface Span {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: TraceContext;
  /** Span id of its parent; `undefined` for the first of a trace. */
  readonly parentId: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  /** Spans that it has to do with, of this trace or of others. */
  readonly links: readonly TraceContext[];
  /** How it failed, of a closed list of words; `undefined`: it did not. */
  readonly error: string | undefined;
}

/** Where spans go. Without one nothing is traced, and nothing of it costs anything. */
export interface Tracer {
  /** Share of the traces that begin here which are kept, 0 to 1. Of those that come from outside their sender decides. */
  readonly sampleRatio: number;
  /** Upstreams that are told of no trace, whoever began it. */
  readonly withheldFrom: ReadonlySet<string>;
  /** Takes a span that is over. Never throws and never waits: what cannot be held is dropped and counted. */
  end(span: Span): void;
}
