// Larkspur with everything on: claims in Redis, order per key, retries, breaker, budgets, limits, metrics.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { tap } from 'rxjs';

import { createLogger } from '../../../src/adapters/pino/logger.ts';
import { createMetrics } from '../../../src/adapters/prometheus/metrics.ts';
import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { andThen } from '../../../src/operators/interop/and-then.ts';
import type { RecordSink } from '../../../src/ports/record-sink.ts';
import { startWorker } from '../../../src/runtime/start-worker.ts';
import { openStores } from '../../../src/runtime/stores.ts';

import { Meter, task } from './child.ts';
import { storesWithout } from './without.ts';

const { brokers, redisUrl, prefix, upstreamUrl, calls, inFlight, without } = task();
const file = join(mkdtempSync(join(tmpdir(), 'larkspur-bench-')), 'larkspur.yaml');
writeFileSync(
  file,
  `kafka: { brokers: [${brokers.join(', ')}], topicPrefix: ${prefix}, group: ${prefix}larkspur }
redis: { url: ${redisUrl} }
worker: { inFlight: ${inFlight} }
upstreams:
  stub: { baseUrl: ${upstreamUrl}, concurrency: ${inFlight}, bucketConcurrency: ${inFlight}, connections: ${inFlight} }
`,
);
const { config } = loadConfig({ file, env: {} });
const meter = new Meter(calls);
const log = createLogger({ level: 'warn' });
const parts = { clock: systemClock, timers: systemTimers, random: systemRandom, log, metrics: createMetrics() };
const stores = openStores(config, parts);
const sink: RecordSink = {
  append: (record) =>
    andThen(stores.sink.append(record), (ack) => {
      meter.done(1);
      return ack;
    }),
  flush: () => stores.sink.flush(),
  trouble: (topic) => stores.sink.trouble(topic),
};
const running = startWorker(
  config,
  storesWithout(without, {
    ...stores,
    sink,
    source: () => {
      const source = stores.source();
      return Object.assign(source, {
        event$: source.event$.pipe(
          tap((event) => {
            if (event.kind === 'record') meter.start();
          }),
        ),
      });
    },
  }),
  parts,
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
process.once('disconnect', () => process.exit(0));
process.once('SIGTERM', () => {
  void running.stop().then(async () => {
    await stores.close();
    process.exit(0);
  });
});
