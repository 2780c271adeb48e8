// Larkspur with everything on: claims in Redis, order per key, retries, breaker, budgets, limits, metrics.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { tap } from 'rxjs';

import { loadConfig } from '../../../src/config/load.ts';
import { andThen } from '../../../src/operators/interop/and-then.ts';
import { tracedSink } from '../../../src/pipeline/trace/traced-sink.ts';
import type { RecordSink } from '../../../src/ports/record-sink.ts';
import { openStores } from '../../../src/runtime/open-stores.ts';
import { startWorker } from '../../../src/runtime/start-worker.ts';

import { Meter, task } from './child.ts';
import { watchedByNobody, watchedParts, watchedYaml } from './watched.ts';
import { storesWithout } from './without.ts';

const { brokers, redisUrl, prefix, upstreamUrl, calls, inFlight, without, watched = watchedByNobody } = task();
const written = watchedYaml(watched);
const file = join(mkdtempSync(join(tmpdir(), 'larkspur-bench-')), 'larkspur.yaml');
writeFileSync(
  file,
  `kafka: { brokers: [${brokers.join(', ')}], topicPrefix: ${prefix}, group: ${prefix}larkspur }
redis: { url: ${redisUrl} }
worker: { inFlight: ${inFlight}, ${written.worker} }
${written.more}
upstreams:
  stub: { baseUrl: ${upstreamUrl}, concurrency: ${inFlight}, bucketConcurrency: ${inFlight}, connections: ${inFlight} }
`,
);
const { config } = loadConfig({ file, env: {} });
const meter = new Meter(calls);
const parts = await watchedParts(config, watched);
const stores = openStores(config, parts);
const records = parts.traces === undefined ? stores.sink : tracedSink(stores.sink, parts.traces);
const sink: RecordSink = {
  append: (record) =>
    andThen(records.append(record), (ack) => {
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
