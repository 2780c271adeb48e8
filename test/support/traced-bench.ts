import type { Span } from '../../src/ports/tracer.ts';

import { type BenchOptions, PipelineBench } from './pipeline-bench.ts';
import { RememberingTracer } from './remembering-tracer.ts';

/** The span that a caller's `traceparent` names, and the same as a header of a record. */
export const callerSpan = '00f067aa0ba902b7';
export const callerTrace = '4bf92f3577b34da6a3ce929d0e0e4736';
export const callersParent = `00-${callerTrace}-${callerSpan}-01`;
export const traceparent = (text = callersParent) => ['traceparent', Buffer.from(text)] as const;

/** A bench whose spans are kept. */
export function traced(tracer = new RememberingTracer(), options: BenchOptions = {}) {
  return { tracer, bench: new PipelineBench({ ...options, tracer }) };
}

/** The names of spans, each under its parent, in the order of their beginning. */
export function tree(spans: readonly Span[], below: string | undefined): unknown[] {
  return spans
    .filter(({ parentId }) => parentId === below)
    .sort((a, b) => a.startMs - b.startMs)
    .map(({ name, context }) => {
      const children = tree(spans, context.spanId);
      return children.length === 0 ? name : [name, children];
    });
}
