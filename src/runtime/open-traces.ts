import type { Config } from '../config/config.ts';
import { Traces } from '../operators/trace/traces.ts';

import type { WorldParts } from './stores.ts';

/** Traces that go to a collector. */
export interface OpenTraces {
  readonly traces: Traces;
  /** Hands on what is held, for a short time; then drops it. */
  close(): Promise<void>;
}

/** Opens what `tracing` names; `undefined` where nothing is traced: then nothing that it takes is loaded. */
export async function openTraces({ tracing, kafka }: Config, parts: WorldParts): Promise<OpenTraces | undefined> {
  if (tracing === undefined) return undefined;
  const { OtlpTracer } = await import('../adapters/otlp/otlp-tracer.ts');
  const tracer = new OtlpTracer({ ...tracing, ...parts });
  const messaging =
    kafka === undefined ? { system: 'larkspur', group: 'larkspur-worker' } : { system: 'kafka', group: kafka.group };
  return { traces: new Traces({ ...parts, tracer }, messaging), close: () => tracer.close() };
}
