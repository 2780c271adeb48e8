import { namesFrom, shareFrom, type TraceContext } from '../../model/trace-context.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Span, Tracer } from '../../ports/tracer.ts';

/** What traces need. */
export interface TracesParts {
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly random: Random;
}

/** Where the records of a process live, in the words of OpenTelemetry. */
export interface MessagingNames {
  /** `kafka`, or what stands in for it. */
  readonly system: string;
  /** Consumer group of the workers. */
  readonly group: string;
}

/** Decides which traces are kept, and names their spans. */
export class Traces {
  readonly withheldFrom: ReadonlySet<string>;
  readonly messaging: MessagingNames;
  readonly #parts: TracesParts;

  constructor(parts: TracesParts, messaging: MessagingNames) {
    this.#parts = parts;
    this.messaging = messaging;
    this.withheldFrom = parts.tracer.withheldFrom;
  }

  /**
   * A span below a parent. Without one a trace begins, and is kept or not.
   * @param name decides instead of chance, so that whoever reads the same record again comes to the same; absent: chance
   */
  below(parent: TraceContext | undefined, name?: string): TraceContext {
    const { random, tracer } = this.#parts;
    if (parent !== undefined) return { ...parent, spanId: this.newSpanId() };
    const share = name === undefined ? random.next() : shareFrom(name);
    const sampled = share < tracer.sampleRatio;
    // What is not kept needs no name that anybody could find again.
    const traceId =
      name === undefined || !sampled ? this.newSpanId() + this.newSpanId() : namesFrom(`trace ${name}`).traceId;
    return { traceId, spanId: this.newSpanId(), sampled };
  }

  /** 16 hex digits, never all zero. */
  newSpanId(): string {
    const { random } = this.#parts;
    return half(random) + half(random);
  }

  /** A monotonic time as epoch milliseconds. */
  epochMs(monotonicMs: number): number {
    const { clock } = this.#parts;
    return clock.wall() + (monotonicMs - clock.now());
  }

  /** Now, monotonic. */
  nowMs(): number {
    return this.#parts.clock.now();
  }

  end(span: Span): void {
    this.#parts.tracer.end(span);
  }
}

function half(random: Random): string {
  // Never zero, so that an id never is.
  return (1 + Math.floor(random.next() * 0xff_ff_ff_ff)).toString(16).padStart(8, '0');
}
