import { createRequire } from 'node:module';

import { beforeAll, describe, expect, it } from 'vitest';

import { patchKafkajs } from '../../../../src/adapters/kafka/patches.ts';
import { Bundle } from '../../../../src/adapters/kafka/produce-request.ts';
import { noLogger } from '../../../support/silent.ts';

interface Encoded {
  readonly buffer: Buffer;
}

type Produce = (options: object) => { readonly request: { encode(): Promise<Encoded> } };

interface Decoded {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: unknown;
}

const require = createRequire(import.meta.url);
const protocol = 'kafkajs/src/protocol';

describe('patchKafkajs', () => {
  let decode: (decoder: unknown) => Promise<Decoded[]>;
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the driver's insides have no types
  const load = <T>(path: string): T => require(`${protocol}/${path}`) as T;

  const bytesOf = async (records: Encoded[]): Promise<Buffer> => {
    const encodeBatch = load<{ RecordBatch: (batch: object) => Promise<Encoded> }>('recordBatch/v0').RecordBatch;
    const batch = { firstOffset: 5, firstTimestamp: 1_000, maxTimestamp: 2_000, records, partitionLeaderEpoch: 0 };
    const { buffer } = await encodeBatch({ ...batch, lastOffsetDelta: records.length - 1 });
    const size = Buffer.alloc(4);
    size.writeInt32BE(buffer.length);
    return Buffer.concat([size, buffer]);
  };
  /** What is written of messages to partition 3 of the topic `t`, from the size of the batch on. */
  const written = async (messages: object[]): Promise<Buffer> => {
    const { protocol: version } = load<{ protocol: (of: { version: number }) => Produce }>('requests/produce');
    const topicData = [{ topic: 't', partitions: [{ partition: '3', messages, firstSequence: 0 }] }];
    const { buffer } = await version({ version: 7 })({ acks: -1, timeout: 1_000, topicData }).request.encode();
    return buffer.subarray(23);
  };
  const read = async (bytes: Buffer): Promise<Decoded[]> => {
    const Decoder = load<new (bytes: Buffer) => unknown>('decoder');
    return decode(new Decoder(bytes));
  };
  const record = (fields: object): Encoded => load<(fields: object) => Encoded>('recordBatch/record/v0')(fields);

  beforeAll(() => {
    patchKafkajs(noLogger);
    decode = load('requests/fetch/v4/decodeMessages');
  });

  it('K21, D3: reads a batch of 130,000 records', async () => {
    const records = Array.from({ length: 130_000 }, (_, offsetDelta) => record({ offsetDelta, value: 'v' }));
    const decoded = await read(await bytesOf(records));
    expect(decoded).toHaveLength(130_000);
    expect(decoded.at(-1)?.offset).toBe('130004');
  });

  it('gives headers as a list, in their order, whatever they are called', async () => {
    const headers = { 7: 'seven', constructor: 'c', z: ['1', '2'], toString: 't' };
    const [decoded] = await read(await bytesOf([record({ value: 'v', timestampDelta: 20, headers })]));
    expect(decoded).toMatchObject({ offset: '5', timestamp: '1020', value: Buffer.from('v') });
    expect(decoded?.headers).toEqual(
      ['7=seven', 'constructor=c', 'z=1', 'z=2', 'toString=t'].map((text) => {
        const [name, value = ''] = text.split('=');
        return [name, Buffer.from(value)];
      }),
    );
  });

  it('writes headers given as a list in their order, and numbers of any size', async () => {
    const headers = [
      ['a', Buffer.from('1')],
      ['é', Buffer.alloc(300)],
      ['a', null],
    ];
    const fields = { key: Buffer.alloc(0), value: Buffer.alloc(20_000, 7), headers };
    const times = [100_000, 99_995, 170_000, 100_000 + 3 * 2 ** 33];
    const decoded = await read(await written(times.map((timestamp) => ({ ...fields, timestamp }))));
    expect(decoded.map(({ timestamp }) => Number(timestamp))).toEqual(times);
    for (const one of decoded) expect(one).toMatchObject({ key: fields.key, value: fields.value, headers });
  });

  it('writes all records of a bundle, in their order', async () => {
    const records = Array.from({ length: 300 }, (_, index) => ({ key: null, value: Buffer.from(`v${index}`) }));
    const decoded = await read(await written([new Bundle(3, records)]));
    expect(decoded.map(({ value }) => String(value))).toEqual(records.map(({ value }) => String(value)));
    expect(decoded.map(({ offset }) => Number(offset))).toEqual(records.map((_, index) => index));
  });

  it('grows an encoder by what is needed, with nothing lost and nothing added', () => {
    const Encoder = load<new () => Encoded & { writeBuffer(bytes: Buffer): void; size(): number }>('encoder');
    const encoder = new Encoder();
    const pieces = [500, 11, 1, 2, 70_000, 3, 0, 600].map((size, index) => Buffer.alloc(size, index + 1));
    for (const piece of pieces) encoder.writeBuffer(piece);
    expect(encoder.buffer.equals(Buffer.concat(pieces))).toBe(true);
    expect(encoder.size()).toBe(71_117);
  });

  it('leaves out the last batch when it was cut', async () => {
    const whole = await bytesOf([record({ value: 'first' })]);
    const cut = (await bytesOf([record({ value: Buffer.alloc(500) })])).subarray(4, 400);
    const both = Buffer.concat([whole, cut]);
    both.writeInt32BE(both.length - 4);
    expect((await read(both)).map(({ value }) => value?.toString())).toEqual(['first']);
  });

  it('schedules no timer on a connection that has nothing to send', () => {
    const Queue =
      load<new (options: object) => { scheduleCheckPendingRequests(): void; throttleCheckTimeoutId: unknown }>(
        '../network/requestQueue',
      );
    const queue = new Queue({ logger: { debug: () => undefined }, requestTimeout: 1_000 });
    queue.scheduleCheckPendingRequests();
    expect(queue.throttleCheckTimeoutId).toBeNull();
  });
});
