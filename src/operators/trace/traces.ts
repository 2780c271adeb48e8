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
    const spanId = this.newSpanId();
    if (parent !== undefined) return { traceId: parent.traceId, spanId, sampled: parent.sampled };
    if (name !== undefined) return { traceId: namesFrom(`trace ${name}`).traceId, spanId, sampled: this.keeps(name) };
    return { traceId: this.newSpanId() + this.newSpanId(), spanId, sampled: random.next() < tracer.sampleRatio };
  }

  /** Whether a trace that begins with something of this name is kept. */
  keeps(name: string): boolean {
    return shareFrom(name) < this.#parts.tracer.sampleRatio;
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

const bytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function byte(bits: number): string {
  return bytes[bits & 0xff] ?? '';
}

function half(random: Random): string {
  // Never zero, so that an id never is.
  const bits = 1 + Math.floor(random.next() * 0xff_ff_ff_ff);
  return byte(bits >>> 24) + byte(bits >>> 16) + byte(bits >>> 8) + byte(bits);
}
