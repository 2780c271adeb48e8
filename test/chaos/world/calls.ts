import { type Kafka, logLevel } from 'kafkajs';

import { partitionFor } from '../../../src/model/partitioner.ts';

export const partitions = 12;

/** Numbered messages over some keys: the ledger of the sandbox can tell order, doubles and gaps from the text. */
export class Calls {
  readonly count: number;
  readonly keys: number;
  readonly #bytes: number;
  readonly #plainEvery: number;
  readonly #keysOf: readonly number[][];

  /**
   * @param shape `bytes`: least length of a record's value; `plainEvery`: each nth key has calls of an API without a key of
   * the platform, which must not be sent again; 0 for none
   */
  constructor(count: number, keys: number, { bytes = 0, plainEvery = 0 } = {}) {
    this.count = count;
    this.keys = keys;
    this.#bytes = bytes;
    this.#plainEvery = plainEvery;
    this.#keysOf = Array.from({ length: partitions }, () => []);
    for (let key = 0; key < keys; key++) this.#keysOf[partitionFor(Buffer.from(`k${key}`), partitions)]?.push(key);
  }

  /** The id of the record at an offset; its producer writes each partition in a fixed order. */
  idAt(partition: number, offset: number): string {
    const keys = this.#keysOf[partition] ?? [];
    return `c${Math.floor(offset / keys.length) * this.keys + (keys[offset % keys.length] ?? 0)}`;
  }

  /** Whether the call's API knows no key by which a repeat could be told. */
  isPlain(id: string): boolean {
    return this.#plainEvery > 0 && (Number(id.slice(1)) % this.keys) % this.#plainEvery === 0;
  }

  /** Whether an id is one of ours. */
  has(id: string): boolean {
    return /^c\d+$/.test(id) && Number(id.slice(1)) < this.count;
  }

  /** Writes all of them. Rejects when the topic was not empty before. */
  async produce(kafka: Kafka, topic: string, progress: (written: number) => void): Promise<void> {
    const producer = kafka.producer({ allowAutoTopicCreation: false });
    await producer.connect();
    const ends = this.#keysOf.map(() => 0);
    const perRound = Math.max(1, Math.floor(6_000 / this.keys)) * this.keys;
    try {
      for (let from = 0; from < this.count; from += perRound) {
        const rounds = this.#keysOf.map(() => [] as { key: string; value: string; partition: number }[]);
        for (let i = from; i < Math.min(this.count, from + perRound); i++) {
          const key = `k${i % this.keys}`;
          const partition = partitionFor(Buffer.from(key), partitions);
          rounds[partition]?.push({ key, value: this.#value(i), partition });
        }
        // One partition each: a retry of a send over several could write some of them twice.
        await Promise.all(
          rounds.map(async (messages, partition) => {
            if (messages.length === 0) return;
            const [reply] = await producer.send({ topic, acks: -1, messages });
            if (Number(reply?.baseOffset) !== ends[partition]) throw new Error(`${topic}/${partition} was not empty`);
            ends[partition] = (ends[partition] ?? 0) + messages.length;
          }),
        );
        progress(Math.min(this.count, from + perRound));
      }
    } finally {
      await producer.disconnect();
    }
  }

  #value(i: number): string {
    const key = `k${i % this.keys}`;
    const n = Math.floor(i / this.keys);
    const text = `n=${n}`;
    if (this.isPlain(`c${i}`))
      return JSON.stringify({ id: `c${i}`, upstream: 'plain', path: '/act', method: 'POST', body: { key, n } });
    const call = (pad: string): string =>
      JSON.stringify({
        id: `c${i}`,
        path: '/open-apis/im/v1/messages',
        query: { receive_id_type: 'chat_id' },
        body: { receive_id: key, msg_type: 'text', content: JSON.stringify({ text: text + pad }) },
      });
    const short = call('');
    return short.length >= this.#bytes ? short : call(` ${'x'.repeat(this.#bytes - short.length - 1)}`);
  }
}

/** Driver of the tests' own clients: they share nothing with what they judge. */
export const quiet = { clientId: 'larkspur-chaos', logLevel: logLevel.NOTHING };
