import { tap } from 'rxjs';

import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { compile } from '../../../src/config/compile.ts';
import { complete } from '../../../src/config/complete.ts';
import { LarkspurError } from '../../../src/model/errors.ts';
import type { RecordSink } from '../../../src/ports/record-sink.ts';
import { startWorker } from '../../../src/runtime/start-worker.ts';
import { openStores } from '../../../src/runtime/stores.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';

import type { Contestant } from './offer.ts';

/** One worker on the embedded store in memory. A call has ended when its terminal record is durable. */
export function larkspur(upstreamUrl: string): Contestant {
  const { value } = complete(
    {
      data: 'memory',
      drainMs: 5_000,
      worker: { inFlight: 256 },
      upstreams: { stub: { baseUrl: upstreamUrl, concurrency: 256, bucketConcurrency: 256 } },
    },
    () => 'bench',
  );
  const config = compile(value, new Map());
  let requests = 0;
  const metrics = {
    ...noMetrics,
    counter: (name: string) => ({ add: () => void (requests += name === 'larkspur_attempts_total' ? 1 : 0) }),
  };
  const world = { clock: systemClock, timers: systemTimers, random: systemRandom, log: noLogger, metrics };
  const stores = openStores(config, world);
  const waiting = new Map<string, (good: boolean) => void>();
  const end = (key: Buffer | null, topic: string): void => {
    const id = String(key);
    waiting.get(id)?.(topic === 'results');
    waiting.delete(id);
  };
  const sink: RecordSink = {
    append: (record) =>
      record.topic === 'calls'
        ? stores.sink.append(record)
        : stores.sink.append(record).pipe(tap(() => end(record.key, record.topic))),
    flush: () => stores.sink.flush(),
  };
  const running = startWorker(config, { ...stores, sink }, world, (error) => {
    throw new LarkspurError('internal', error.message, { cause: error });
  });
  return {
    call: (n) =>
      new Promise((resolve, reject) => {
        const id = `c-${n}`;
        waiting.set(id, resolve);
        const value = Buffer.from(JSON.stringify({ id, upstream: 'stub', path: '/', body: { n } }));
        sink.append({ topic: 'calls', key: Buffer.from(id), value, headers: [] }).subscribe({ error: reject });
      }),
    requests: () => requests,
    close: async () => {
      await running.stop();
      await stores.close();
    },
  };
}
