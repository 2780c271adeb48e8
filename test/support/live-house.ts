import { firstValueFrom } from 'rxjs';

import { createMetrics, type ScrapableMetrics } from '../../src/adapters/prometheus/metrics.ts';
import { systemClock, systemTimers } from '../../src/adapters/system/clock.ts';
import { compile } from '../../src/config/compile.ts';
import { complete } from '../../src/config/complete.ts';
import type { Config } from '../../src/config/config.ts';
import type { RawConfig } from '../../src/config/schema.ts';
import type { Call } from '../../src/model/call.ts';
import { deadLetterHeaders, type DeadLetterHistory } from '../../src/model/dead-letter.ts';
import type { LarkspurError } from '../../src/model/errors.ts';
import { headerText, type InRecord } from '../../src/model/record.ts';
import type { Result } from '../../src/model/result.ts';
import { openStores } from '../../src/runtime/open-stores.ts';
import { startWorker } from '../../src/runtime/start-worker.ts';
import type { Stores } from '../../src/runtime/stores.ts';
import type { Sandbox } from '../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';

import { noLogger } from './silent.ts';
import { seededRandom } from './virtual-time.ts';

/** The product in this process and in real time: sandbox with real HTTP, embedded store in memory, one worker. */
export interface LiveHouse {
  readonly sandbox: Sandbox;
  readonly metrics: ScrapableMetrics;
  readonly stores: Stores;
  /** Hands calls in, with their ordering keys; resolves when they are stored. */
  produce(calls: readonly (readonly [call: Call, key: string | null])[]): Promise<void>;
  /** Resolves when so many records have ended. Rejects with what is there when it takes too long, or the worker fails. */
  ended(count: number, withinMs?: number): Promise<void>;
  results(): Promise<Result[]>;
  deadLetters(): Promise<DeadLetterHistory[]>;
  close(): Promise<void>;
}

/** What a live house is told; `upstreams` are made from the sandbox's address. */
export interface LiveHouseOptions {
  readonly raw?: (sandboxUrl: string) => RawConfig;
  readonly seed?: number;
}

/** Opens one; who opens it closes it. The sandbox has no limits and no faults until it is told. */
export async function openLiveHouse({ raw = () => ({}), seed = 1 }: LiveHouseOptions = {}): Promise<LiveHouse> {
  const sandbox = await createSandbox({ seed, settings: { tierMode: 'off', chatPerSecond: 0 } });
  const config = configOf(raw(sandbox.url), sandbox.url);
  const metrics = createMetrics({ processMetrics: false });
  const world = { clock: systemClock, timers: systemTimers, random: seededRandom(seed), log: noLogger, metrics };
  const stores = openStores(config, world);
  const failures: LarkspurError[] = [];
  const running = startWorker(config, stores, world, (error) => failures.push(error));
  return {
    sandbox,
    metrics,
    stores,
    produce: async (calls) => {
      const acks = calls.map(([call, key]) =>
        firstValueFrom(
          stores.sink.append({
            topic: 'calls',
            key: key === null ? null : Buffer.from(key),
            value: Buffer.from(JSON.stringify(call)),
            headers: [],
          }),
        ),
      );
      const refused = (await Promise.all(acks)).find(({ kind }) => kind !== 'written');
      if (refused !== undefined) throw new Error(`a call was not stored: ${refused.kind}`);
    },
    ended: async (count, withinMs = 15_000) => {
      const limitMs = performance.now() + withinMs;
      while (running.worker.settled < count) {
        if (failures[0] !== undefined) throw failures[0];
        if (performance.now() > limitMs)
          throw new Error(`${running.worker.settled} of ${count} ended in ${withinMs} ms`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    results: async () => (await recordsOf(stores, 'results')).map(({ value }) => JSON.parse(String(value)) as Result),
    deadLetters: async () =>
      (await recordsOf(stores, 'dead-letters')).map(
        ({ headers }) => JSON.parse(headerText(headers, deadLetterHeaders.history) ?? '{}') as DeadLetterHistory,
      ),
    close: async () => {
      await running.stop();
      await stores.close();
      await sandbox.close();
    },
  };
}

function configOf(raw: RawConfig, sandboxUrl: string): Config {
  const { feishu = {}, ...others } = raw.upstreams ?? {};
  const { value } = complete(
    {
      data: 'memory',
      drainMs: 2_000,
      apps: [{ id: 'cli_a', secret: 'sandbox' }],
      ...raw,
      upstreams: { feishu: { ...feishu, baseUrl: sandboxUrl }, ...others },
    },
    () => 'test',
  );
  return compile(value, new Map());
}

function recordsOf(stores: Stores, topic: string): Promise<InRecord[]> {
  return new Promise((resolve, reject) => {
    const records: InRecord[] = [];
    stores.tail(topic, Number.MAX_SAFE_INTEGER).subscribe({
      next: (record) => records.push(record),
      error: reject,
      complete: () => resolve(records),
    });
  });
}
