import { benchConfig, embeddedWorker } from '../embedded-worker.ts';
import type { Contestant } from '../offer.ts';

/** One worker on the embedded store in memory. A call has ended when its terminal record is durable. */
export function larkspur(upstreamUrl: string): Contestant {
  const stub = { baseUrl: upstreamUrl, concurrency: 256, bucketConcurrency: 256 };
  const worker = embeddedWorker(benchConfig({ worker: { inFlight: 256 }, upstreams: { stub } }));
  return {
    call: async (n) =>
      (await worker.call({ id: `c-${n}`, upstream: 'stub', path: '/', body: { n } })).topic === 'results',
    requests: () => worker.tally.sum('larkspur_attempts_total'),
    close: () => worker.close(),
  };
}
