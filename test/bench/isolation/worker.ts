import { tap } from 'rxjs';

import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { compile } from '../../../src/config/compile.ts';
import { complete } from '../../../src/config/complete.ts';
import type { RawUpstream } from '../../../src/config/schema-upstream.ts';
import { LarkspurError } from '../../../src/model/errors.ts';
import type { Result } from '../../../src/model/result.ts';
import type { RecordSink } from '../../../src/ports/record-sink.ts';
import { startWorker } from '../../../src/runtime/start-worker.ts';
import { openStores } from '../../../src/runtime/stores.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';

import type { Taker } from './traffic.ts';

/** A worker on the embedded store in memory. */
export interface BenchWorker extends Taker {
  readonly close: () => Promise<void>;
}

/** One worker with these upstreams. A call has ended when its terminal record is durable. */
export function benchWorker(upstreams: Readonly<Record<string, RawUpstream>>): BenchWorker {
  const { value } = complete({ data: 'memory', drainMs: 5_000, upstreams }, () => 'bench');
  const config = compile(value, new Map());
  const world = { clock: systemClock, timers: systemTimers, random: systemRandom, log: noLogger, metrics: noMetrics };
  const stores = openStores(config, world);
  const waiting = new Map<string, (source: string) => void>();
  const sink: RecordSink = {
    append: (record) =>
      record.topic === 'calls'
        ? stores.sink.append(record)
        : stores.sink.append(record).pipe(
            tap(() => {
              const id = String(record.key);
              const live = record.topic === 'results' && record.value !== null;
              waiting.get(id)?.(live ? (JSON.parse(String(record.value)) as Result).source : 'none');
              waiting.delete(id);
            }),
          ),
    flush: () => stores.sink.flush(),
  };
  const running = startWorker(config, { ...stores, sink }, world, (error) => {
    throw new LarkspurError('internal', error.message, { cause: error });
  });
  let n = 0;
  return {
    call: (upstream, question) =>
      new Promise((resolve, reject) => {
        const id = `${upstream}-${++n}`;
        waiting.set(id, resolve);
        const value = Buffer.from(JSON.stringify({ id, upstream, path: `/items/${question % 50}` }));
        sink.append({ topic: 'calls', key: Buffer.from(id), value, headers: [] }).subscribe({ error: reject });
      }),
    isOpen: (upstream) => {
      const { breakers } = running.house.destinations.get(upstream) ?? {};
      return [...(breakers?.entries() ?? [])].some(
        ([, breaker]) => breaker.snapshot(systemClock.now()).state === 'open',
      );
    },
    close: async () => {
      await running.stop();
      await stores.close();
    },
  };
}
