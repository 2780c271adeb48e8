import { createRequire } from 'node:module';

import type { Logger } from '../../ports/logger.ts';

// kafkajs 2.2.4 is the last of its line, so two of its faults are mended in place. Both mends are pinned to that version
// and look at what they replace; anything else is left alone and said.
const require = createRequire(import.meta.url);
const patchedVersion = '2.2.4';

interface RequestQueue {
  readonly pending: readonly unknown[];
}

type Schedule = (this: RequestQueue) => void;

interface Decoder {
  readInt32(): number;
  canReadBytes(count: number): boolean;
  readBytes(count: number): Buffer;
}

type Decode = (decoder: Decoder) => Promise<unknown[]>;

let trouble: string[] | undefined;

/** Applies the mends once per process, before the first fetch, and warns when one does not fit. */
export function patchKafkajs(logger: Logger): void {
  if (trouble !== undefined) return;
  trouble = [];
  for (const mend of [silenceIdleTimer, decodeLargeBatches]) {
    try {
      mend();
    } catch (error) {
      trouble.push(mend.name);
      logger.warn({ mend: mend.name, error: String(error) }, 'a mend of kafkajs does not fit this version; left out');
    }
  }
}

/** Names of the mends that did not fit; empty after a full {@link patchKafkajs}. */
export function unfitPatches(): readonly string[] {
  return trouble ?? [];
}

/** An idle connection polls its empty queue every millisecond: 3 % of a core for one consumer and one producer. */
function silenceIdleTimer(): void {
  expectVersion();
  const queue = require('kafkajs/src/network/requestQueue') as { readonly prototype: Record<string, unknown> };
  const original = queue.prototype['scheduleCheckPendingRequests'];
  if (typeof original !== 'function' || !String(original).includes('throttleCheckTimeoutId')) {
    throw new Error('the request queue looks different');
  }
  const schedule = original as Schedule;
  // A push on a throttled queue schedules its own check, so with nothing pending there is nothing to look for.
  queue.prototype['scheduleCheckPendingRequests'] = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
}

/** A batch of 125,000 records or more overflows the stack, because it is spread into the arguments of one call. */
function decodeLargeBatches(): void {
  expectVersion();
  const path = require.resolve('kafkajs/src/protocol/requests/fetch/v4/decodeMessages');
  const original = require(path) as Decode;
  if (!String(original).includes('records.push(...recordBatch.records)'))
    throw new Error('the decoder looks different');
  const Reader = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder;
  const readBatch = require('kafkajs/src/protocol/recordBatch/v0/decoder') as (
    decoder: Decoder,
  ) => Promise<{ readonly records: readonly unknown[] }>;
  const magicAt = 16;
  const overhead = 49;
  const decode: Decode = async (decoder) => {
    const size = decoder.readInt32();
    if (size <= 0 || !decoder.canReadBytes(size)) return [];
    const bytes = decoder.readBytes(size);
    if (bytes[magicAt] !== 2) throw new Error('records in a format older than Kafka 0.11');
    const reader = new Reader(bytes);
    const records: unknown[] = [];
    while (reader.canReadBytes(overhead)) {
      try {
        for (const record of (await readBatch(reader)).records) records.push(record);
      } catch (error) {
        // The limit of bytes may cut the last batch: the next fetch brings it whole.
        if (error instanceof Error && error.name === 'KafkaJSPartialMessageError') break;
        throw error;
      }
    }
    return records;
  };
  const cached = require.cache[path];
  const reader = require.resolve('kafkajs/src/protocol/requests/fetch/v4/response');
  if (cached === undefined || require.cache[reader] !== undefined) throw new Error('the decoder is in use already');
  cached.exports = decode;
}

function expectVersion(): void {
  const { version } = require('kafkajs/package.json') as { readonly version: string };
  if (version !== patchedVersion) throw new Error(`made for kafkajs ${patchedVersion}, found ${version}`);
}
