import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Bundle, encodeProduce, type ProduceRequest } from '../../../../src/adapters/kafka/produce-request.ts';
import type { Codec } from '../../../../src/adapters/kafka/wire-batch.ts';
import { unmendedDriver } from '../../../support/unmended-driver.ts';

type Produce = (request: ProduceRequest) => { encode(): Promise<{ readonly buffer: Buffer }> };

const [v0, v1, v2, theirs, { lookupCodec }] = unmendedDriver([
  ...[0, 1, 2, 3].map((version) => `src/protocol/requests/produce/v${version}/request`),
  'src/protocol/message/compression',
]) as [Produce, Produce, Produce, Produce, { lookupCodec: (compression: number) => Codec }];

const gzip = 1;
const nowMs = 1_767_225_600_123;

const ours = (request: ProduceRequest): Promise<Buffer> => encodeProduce(request, lookupCodec, nowMs);

// Around the sizes from which a length takes another byte, and from which bytes are no longer written by hand.
const length = fc.oneof(fc.nat(70), fc.constantFrom(8_191, 8_192));
const bytes = fc.tuple(length, fc.nat(255)).map(([size, byte]) => Buffer.alloc(size, byte));
const anyBytes = fc.oneof(bytes, fc.string({ unit: 'binary', maxLength: 200, size: 'max' }));
const name = fc.oneof(fc.constantFrom('a', 'traceparent', 'é', ''), fc.string({ unit: 'binary', maxLength: 200 }));
const headers = fc.dictionary(name, fc.oneof(anyBytes, fc.array(anyBytes, { maxLength: 4 })), { maxKeys: 8 });
const timestamp = fc.option(fc.oneof(fc.nat(), fc.nat().map(String), fc.constant(String(nowMs))));
const message = fc.record(
  { key: fc.option(anyBytes), value: fc.option(anyBytes), headers, timestamp },
  { requiredKeys: ['value'] },
);
const partition = fc.record({
  partition: fc.oneof(fc.nat(), fc.nat().map(String)),
  messages: fc.array(message, { maxLength: 70, size: 'max' }),
  firstSequence: fc.nat(),
});
const topic = fc.record({ topic: fc.string({ minLength: 1 }), partitions: fc.array(partition, { maxLength: 3 }) });
const request = fc.record(
  {
    acks: fc.constantFrom(-1, 0, 1),
    timeout: fc.nat(),
    topicData: fc.array(topic, { maxLength: 3 }),
    transactionalId: fc.constantFrom('tx', null, undefined),
    producerId: fc.bigInt({ min: -1n, max: 2n ** 63n - 1n }).map(String),
    producerEpoch: fc.nat(32_767),
    compression: fc.constantFrom(0, gzip),
  },
  { requiredKeys: ['acks', 'timeout', 'topicData'] },
) as fc.Arbitrary<ProduceRequest>;

describe('encodeProduce', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: nowMs }));
  afterEach(() => void vi.useRealTimers());

  it('writes byte for byte what the driver writes, whatever is sent', async () => {
    await fc.assert(
      fc.asyncProperty(request, async (wanted) => {
        const expected = (await theirs(wanted).encode()).buffer;
        expect((await ours(wanted)).equals(expected)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it.each([1, 20, 500])(
    'writes %i records in a bundle, with headers as a list, as the driver writes them',
    async (n) => {
      const records = Array.from({ length: n }, (_, index) => ({
        key: index % 3 === 0 ? null : Buffer.from(`key-${index}`),
        value: index % 7 === 0 ? null : Buffer.alloc(index * 40, index),
        headers: { id: Buffer.from(`${index}`), traceparent: Buffer.alloc(55, 'f'), é: Buffer.alloc(index) },
      }));
      const listed = records.map((record) => ({ ...record, headers: Object.entries(record.headers) }));
      const sent = (
        messages: ProduceRequest['topicData'][number]['partitions'][number]['messages'],
      ): ProduceRequest => ({
        ...{ acks: -1, timeout: 15_000 },
        topicData: [{ topic: 'results', partitions: [{ partition: '3', messages }] }],
      });
      const expected = (await theirs(sent(records)).encode()).buffer;
      expect((await ours(sent([new Bundle(3, listed)]))).equals(expected)).toBe(true);
    },
  );

  it('writes a record of 5 MB, and a batch of none, as the driver does', async () => {
    for (const messages of [[{ value: Buffer.alloc(5_000_000, 'larkspur') }], []]) {
      const wanted = { acks: -1, timeout: 1, topicData: [{ topic: 't', partitions: [{ partition: 0, messages }] }] };
      expect((await ours(wanted)).equals((await theirs(wanted).encode()).buffer)).toBe(true);
    }
  });
});

describe('Bundle', () => {
  const records = [
    { key: null, value: Buffer.from('a') },
    { key: null, value: Buffer.from('b') },
  ];
  const request = (compression: number): ProduceRequest => ({
    ...{ acks: -1, timeout: 1, compression },
    topicData: [{ topic: 't', partitions: [{ partition: 0, messages: [new Bundle(0, records)] }] }],
  });

  it.each([
    ['0', v0, 0],
    ['1', v1, 0],
    ['2', v2, 0],
    ['2, compressed,', v2, gzip],
  ])('is refused by a request of version %s which would write one empty record', async (_, produce, compression) => {
    await expect(produce(request(compression)).encode()).rejects.toThrow(/older than Kafka 0\.11/);
  });
});
