import { createRequire } from 'node:module';

import { messageOf } from '../../model/errors.ts';
import type { Logger } from '../../ports/logger.ts';

import { encodeProduce, type ProduceRequest } from './produce-request.ts';
import { damageOf, unreadable } from './unreadable.ts';
import type { Codec } from './wire-batch.ts';
import { type Decoder, decodeRecord } from './wire-record.ts';

// kafkajs 2.2.4 is the last of its line, so some of its faults are mended in place. All mends are pinned to that version
// and look at what they replace; anything else is left alone and said.
const require = createRequire(import.meta.url);
const patchedVersion = '2.2.4';

interface RequestQueue {
  readonly pending: readonly unknown[];
}

type Schedule = (this: RequestQueue) => void;

type DecodeMessages = (decoder: Decoder) => Promise<unknown[]>;

let trouble: string[] | undefined;

const mends = [silenceIdleTimer, keepHeaders, writeBatches, growWithoutFilling, decodeLargeBatches, followCoordinator];

/** Applies the mends once per process, before the first fetch, and warns when one does not fit. */
export function patchKafkajs(logger: Logger): void {
  if (trouble !== undefined) return;
  trouble = [];
  for (const mend of mends) {
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

/** Whether the producer takes a bundle for its records, and headers as a list. */
export function takesBundles(): boolean {
  return trouble !== undefined && !trouble.includes(writeBatches.name);
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

/**
 * Headers are decoded into a plain object, which puts them into another order, and turns one that is called `constructor`
 * or `__proto__` into nonsense that kills the consumer. With this mend they come as a list of names and values.
 */
function keepHeaders(): void {
  expectVersion();
  const path = 'kafkajs/src/protocol/recordBatch/record/v0/decoder';
  replaceModule(path, 'readVarIntArray(HeaderDecoder)', 'kafkajs/src/protocol/recordBatch/v0/decoder', decodeRecord);
}

/**
 * Writing takes an object of headers too, makes a copy and some twenty buffers of each record, and copies the batch five times.
 * With this mend a request is written into one buffer, names of headers that are repeated keep their place, and a full send costs
 * a fifth. Later versions of the request are made of this one.
 */
function writeBatches(): void {
  expectVersion();
  const { lookupCodec } = require('kafkajs/src/protocol/message/compression') as {
    readonly lookupCodec: (compression: number) => Codec;
  };
  const request = (wanted: ProduceRequest): object => ({
    ...{ apiKey: 0, apiVersion: 3, apiName: 'Produce' },
    expectResponse: () => wanted.acks !== 0,
    encode: async () => {
      const buffer = await encodeProduce(wanted, lookupCodec, Date.now());
      return { buf: buffer, buffer, size: () => buffer.length };
    },
  });
  const path = 'kafkajs/src/protocol/requests/produce/v3/request';
  replaceModule(path, 'topicEncoder(compression)', 'kafkajs/src/protocol/requests/produce/v4/request', request);
}

/**
 * A request is copied into its frame by way of two buffers that are filled with zeros first, up to twice as large as it. With
 * this mend they are of its size, and not filled: nobody looks beyond what was written.
 */
function growWithoutFilling(): void {
  expectVersion();
  interface Growing {
    buf: Buffer;
    readonly offset: number;
  }
  const encoder = require('kafkajs/src/protocol/encoder') as { readonly prototype: Record<string, unknown> };
  if (!String(encoder.prototype['ensureAvailable']).includes('nextPowerOfTwo(this.offset + length)')) {
    throw new Error('the encoder looks different');
  }
  encoder.prototype['ensureAvailable'] = function (this: Growing, bytes: number): void {
    const needed = this.offset + bytes;
    if (needed <= this.buf.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.buf.length));
    this.buf.copy(grown, 0, 0, this.offset);
    this.buf = grown;
  };
}

/**
 * A batch of 125,000 records or more overflows the stack, because it is spread into the arguments of one call. Nobody looks at
 * the checksum of a batch, and one whose codec is not there ends the consumer, with all its partitions. With this mend a batch
 * of any size is read, and one that cannot be ends the records of its partition: a mark in its place says why.
 */
function decodeLargeBatches(): void {
  expectVersion();
  const path = 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages';
  const original = require(path) as DecodeMessages;
  const Reader = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder;
  const readBatch = require('kafkajs/src/protocol/recordBatch/v0/decoder') as (
    decoder: Decoder,
  ) => Promise<{ readonly records: readonly unknown[] }>;
  const magicAt = 16;
  const overhead = 49;
  const decode: DecodeMessages = async (decoder) => {
    // Records older than Kafka 0.11 have another form, and no batches to be large.
    if (decoder.buffer[decoder.offset + 4 + magicAt] !== 2) return original(decoder);
    const size = decoder.readInt32();
    if (size <= 0 || !decoder.canReadBytes(size)) return [];
    const reader = new Reader(decoder.readBytes(size));
    const records: unknown[] = [];
    while (reader.canReadBytes(overhead)) {
      const at = reader.offset;
      const trouble = damageOf(reader.buffer, at);
      if (trouble !== undefined) return [...records, unreadable(trouble, reader.buffer, at)];
      try {
        for (const record of (await readBatch(reader)).records) records.push(record);
      } catch (error) {
        // The limit of bytes may cut the last batch: the next fetch brings it whole.
        if (error instanceof Error && error.name === 'KafkaJSPartialMessageError') break;
        return [...records, unreadable(messageOf(error), reader.buffer, at)];
      }
    }
    return records;
  };
  replaceModule(
    path,
    'records.push(...recordBatch.records)',
    'kafkajs/src/protocol/requests/fetch/v4/response',
    decode,
  );
}

/**
 * A coordinator that has died is asked for as long as the consumer is patient, a minute and a half, though another broker has
 * taken over: no commit is stored, and the group takes the member for dead. With this mend a member whose connection to the
 * coordinator is gone asks who it is now, and stays a member.
 */
function followCoordinator(): void {
  expectVersion();
  interface Follower {
    coordinator: { isConnected(): boolean };
    readonly groupId: string;
    readonly cluster: { findGroupCoordinator(of: { groupId: string }): Promise<Follower['coordinator']> };
  }
  const follow = async (one: Follower): Promise<Follower['coordinator']> => {
    if (!one.coordinator.isConnected()) {
      one.coordinator = await one.cluster.findGroupCoordinator({ groupId: one.groupId });
    }
    return one.coordinator;
  };
  const methodOf = (path: string, name: string, expected: string) => {
    const { prototype } = require(path) as { readonly prototype: Record<string, unknown> };
    const original = prototype[name];
    if (typeof original !== 'function' || !String(original).includes(expected))
      throw new Error(`${path} looks different`);
    return { prototype, original: original as (this: unknown, options: unknown) => Promise<unknown> };
  };
  const offsets = methodOf('kafkajs/src/consumer/offsetManager', 'getCoordinator', 'findBroker');
  const group = methodOf('kafkajs/src/consumer/consumerGroup', 'heartbeat', 'SHARED_HEARTBEAT');
  offsets.prototype['getCoordinator'] = function (this: Follower) {
    return follow(this);
  };
  group.prototype['heartbeat'] = async function (this: Follower, options: unknown) {
    await follow(this);
    return group.original.call(this, options);
  };
}

/** Puts `mended` in the place of a module that contains `expected`, unless `user` has taken hold of it already. */
function replaceModule(path: string, expected: string, user: string, mended: unknown): void {
  const source: unknown = require(path);
  if (!String(source).includes(expected)) throw new Error(`${path} looks different`);
  const cached = require.cache[require.resolve(path)];
  if (cached === undefined || require.cache[require.resolve(user)] !== undefined) throw new Error(`${path} is in use`);
  cached.exports = mended;
}

function expectVersion(): void {
  const { version } = require('kafkajs/package.json') as { readonly version: string };
  if (version !== patchedVersion) throw new Error(`made for kafkajs ${patchedVersion}, found ${version}`);
}
