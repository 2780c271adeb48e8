import { tap } from 'rxjs';

import { systemClock, systemRandom, systemTimers } from '../../src/adapters/system/clock.ts';
import { compile } from '../../src/config/compile.ts';
import { complete } from '../../src/config/complete.ts';
import type { Config } from '../../src/config/config.ts';
import type { RawConfig } from '../../src/config/schema.ts';
import type { Call } from '../../src/model/call.ts';
import { LarkspurError } from '../../src/model/errors.ts';
import type { OutRecord } from '../../src/model/record.ts';
import type { House } from '../../src/pipeline/house.ts';
import type { RecordSink } from '../../src/ports/record-sink.ts';
import { Tally } from '../../src/runtime/demo/tally.ts';
import { openStores } from '../../src/runtime/open-stores.ts';
import { startWorker } from '../../src/runtime/start-worker.ts';
import { noLogger } from '../support/silent.ts';

/** A worker on the embedded store in memory, in this process. */
export interface EmbeddedWorker {
  readonly house: House;
  readonly tally: Tally;
  /** Hands a call in. Resolves with its result or dead letter once that is durable. */
  call(call: Call & { readonly id: string }): Promise<OutRecord>;
  close(): Promise<void>;
}

/** A configuration as if it stood in a file, for the store in memory. */
export function benchConfig(written: RawConfig): Config {
  const { value } = complete({ data: 'memory', drainMs: 5_000, ...written }, () => 'bench');
  return compile(value, new Map());
}

/** Starts one worker. Calls are keyed by their ids, so that none waits for another. */
export function embeddedWorker(config: Config): EmbeddedWorker {
  const tally = new Tally();
  const world = { clock: systemClock, timers: systemTimers, random: systemRandom, log: noLogger, metrics: tally };
  const stores = openStores(config, world);
  const waiting = new Map<string, (terminal: OutRecord) => void>();
  const ended = (record: OutRecord): void => {
    const id = String(record.key);
    waiting.get(id)?.(record);
    waiting.delete(id);
  };
  // What is written to a delay topic has not ended.
  const isTerminal = ({ topic }: OutRecord): boolean => topic === 'results' || topic === 'dead-letters';
  const sink: RecordSink = {
    append: (record) =>
      isTerminal(record) ? stores.sink.append(record).pipe(tap(() => ended(record))) : stores.sink.append(record),
    flush: () => stores.sink.flush(),
    trouble: (topic) => stores.sink.trouble(topic),
  };
  const running = startWorker(config, { ...stores, sink }, world, (error) => {
    throw new LarkspurError('internal', error.message, { cause: error });
  });
  return {
    house: running.house,
    tally,
    call: (call) =>
      new Promise((resolve, reject) => {
        waiting.set(call.id, resolve);
        const value = Buffer.from(JSON.stringify(call));
        sink.append({ topic: 'calls', key: Buffer.from(call.id), value, headers: [] }).subscribe({ error: reject });
      }),
    close: async () => {
      await running.stop();
      await stores.close();
    },
  };
}
