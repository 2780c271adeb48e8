import { randomUUID } from 'node:crypto';

import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace-base';

import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Counter, Metrics } from '../../ports/metrics.ts';
import type { Span, Tracer } from '../../ports/tracer.ts';
import { inTime } from '../system/in-time.ts';

import { readSpan } from './read-span.ts';

/** What may be set for a tracer, and what it takes from the process. */
export interface OtlpTracerOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly sampleRatio: number;
  readonly withheldFrom: readonly string[];
  readonly timers: Timers;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Longest time for one batch, with all its repeats, milliseconds. Default 5,000. */
  readonly batchMs?: number;
}

/** Spans that are not with the collector yet, 1 KB each; further ones are dropped. */
const mostHeld = 8_192;
const batchSpans = 512;
const everyMs = 1_000;
/** Longest time for what is held when the process ends. */
const closeMs = 2_000;

/** `dropped_full`: too many were held; `dropped_refused`: the collector did not take them; `dropped_end`: the process ended. */
type Fate = 'exported' | 'dropped_full' | 'dropped_refused' | 'dropped_end';

/**
 * {@link Tracer} to a collector that takes OTLP as JSON over HTTP. Batches go out one after the other, beside the work: a
 * collector that is away or slow costs spans, which are counted, and nothing else.
 */
export class OtlpTracer implements Tracer {
  readonly sampleRatio: number;
  readonly withheldFrom: ReadonlySet<string>;
  readonly #timers: Timers;
  readonly #log: Logger;
  readonly #spans: Counter;
  readonly #batches: BatchSpanProcessor;
  readonly #resource: ReadableSpan['resource'];
  #held = 0;
  #failing = false;
  #closed = false;

  constructor(options: OtlpTracerOptions) {
    const { url, headers, serviceName, sampleRatio, withheldFrom, timers, log, metrics, batchMs = 5_000 } = options;
    this.sampleRatio = sampleRatio;
    this.withheldFrom = new Set(withheldFrom);
    this.#timers = timers;
    this.#log = log;
    this.#spans = metrics.counter(
      'larkspur_trace_spans_total',
      'Spans of traces that are kept, by what became of them',
      ['fate'],
    );
    metrics.gauge('larkspur_trace_spans_held', 'Spans that are not with the collector yet', [], () => [
      [{}, this.#held],
    ]);
    this.#resource = resourceFromAttributes({
      'service.name': serviceName,
      'service.instance.id': randomUUID(),
    });
    const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: batchMs });
    this.#batches = new BatchSpanProcessor(this.#counted(exporter), {
      // It never fills up: what would is dropped here, where it is counted.
      maxQueueSize: mostHeld,
      maxExportBatchSize: batchSpans,
      scheduledDelayMillis: everyMs,
      exportTimeoutMillis: 2 * batchMs,
    });
  }

  end(span: Span): void {
    if (this.#closed || this.#held >= mostHeld) {
      this.#count(this.#closed ? 'dropped_end' : 'dropped_full', 1);
      return;
    }
    this.#held++;
    this.#batches.onEnd(readSpan(span, this.#resource));
  }

  /** Hands on what is held, for up to two seconds, then drops it. Never rejects; afterwards spans are dropped. */
  async close(): Promise<void> {
    const late = (): Error => new Error(`not handed on within ${closeMs} ms`);
    // What is left over is told below, whatever kept it.
    await inTime(this.#batches.shutdown(), closeMs, this.#timers, late).catch(() => undefined);
    this.#closed = true;
    if (this.#held === 0) return;
    this.#count('dropped_end', this.#held);
    this.#log.warn({ spans: this.#held }, 'some spans did not reach the collector before the end');
  }

  #counted(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          done(result);
          if (this.#closed) return;
          this.#held -= spans.length;
          const failed = result.error !== undefined;
          this.#count(failed ? 'dropped_refused' : 'exported', spans.length);
          this.#tell(failed, result.error);
        }),
      shutdown: () => exporter.shutdown(),
    };
  }

  /** Once for each time that it goes wrong or well again: in an outage a line for every batch would be a flood. */
  #tell(failed: boolean, error: Error | undefined): void {
    if (failed === this.#failing) return;
    this.#failing = failed;
    if (failed) {
      this.#log.warn(
        {
          error: error?.message,
          cure: 'look at tracing.endpoint and at the collector; calls go on, spans are dropped',
        },
        'the collector takes no traces',
      );
    } else this.#log.info({}, 'the collector takes traces again');
  }

  #count(fate: Fate, spans: number): void {
    this.#spans.add({ fate }, spans);
  }
}
