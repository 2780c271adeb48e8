import { Traces, type TracesParts } from '../../src/operators/trace/traces.ts';
import type { Span, Tracer } from '../../src/ports/tracer.ts';

/** Keeps all spans, in the order of their end. */
export class RememberingTracer implements Tracer {
  readonly spans: Span[] = [];
  readonly sampleRatio: number;
  readonly withheldFrom: ReadonlySet<string>;

  constructor(sampleRatio = 1, withheldFrom: readonly string[] = []) {
    this.sampleRatio = sampleRatio;
    this.withheldFrom = new Set(withheldFrom);
  }

  end(span: Span): void {
    this.spans.push(span);
  }

  /** Those of a name, oldest first. */
  of(name: string): Span[] {
    return this.spans.filter((span) => span.name === name);
  }
}

/** The traces of a bench; none without a tracer. */
export function tracesTo(tracer: Tracer | undefined, parts: Omit<TracesParts, 'tracer'>): Traces | undefined {
  return tracer && new Traces({ ...parts, tracer }, { system: 'larkspur', group: 'workers' });
}
