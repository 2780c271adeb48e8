import { systemClock } from '../../../src/adapters/system/clock.ts';
import type { RawUpstream } from '../../../src/config/schema-upstream.ts';
import type { Result } from '../../../src/model/result.ts';
import { benchConfig, embeddedWorker } from '../embedded-worker.ts';

import type { Taker } from './traffic.ts';

/** A worker on the embedded store in memory. */
export interface BenchWorker extends Taker {
  readonly close: () => Promise<void>;
}

/** One worker with these upstreams. A call has ended when its terminal record is durable. */
export function benchWorker(upstreams: Readonly<Record<string, RawUpstream>>): BenchWorker {
  const worker = embeddedWorker(benchConfig({ upstreams }));
  let n = 0;
  return {
    call: async (upstream, question) => {
      const call = { id: `${upstream}-${++n}`, upstream, path: `/items/${question % 50}` };
      const { topic, value } = await worker.call(call);
      return topic === 'results' ? (JSON.parse(String(value)) as Result).source : 'none';
    },
    isOpen: (upstream) => {
      const { breakers } = worker.house.destinations.get(upstream) ?? {};
      return [...(breakers?.entries() ?? [])].some(
        ([, breaker]) => breaker.snapshot(systemClock.now()).state === 'open',
      );
    },
    close: () => worker.close(),
  };
}
