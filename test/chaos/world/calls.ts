import { type Kafka, logLevel } from 'kafkajs';

import { partitionFor } from '../../../src/model/partitioner.ts';

export const partitions = 12;

/** Numbered messages over some keys: the ledger of the sandbox can tell order, doubles and gaps from the text. */
export class Calls {
  readonly keys: number;
  #count: number;
  /** How many have been written, and where each partition ends. */
  #written = 0;
  readonly #ends: number[];
  readonly #bytes: number;
  readonly #plainEvery: number;
  readonly #keysOf: readonly number[][];

  /**
   * @param shape `bytes`: least length of a record's value; `plainEvery`: each nth key has calls of an API without a key of
   * the platform, which must not be sent again; 0 for none
   */
  constructor(count: number, keys: number, { bytes = 0, plainEvery = 0 } = {}) {
    this.#count = count;
    this.keys = keys;
    this.#bytes = bytes;
    this.#plainEvery = plainEvery;
    this.#keysOf = Array.from({ length: partitions }, () => []);
    this.#ends = this.#keysOf.map(() => 0);
    for (let key = 0; key < keys; key++) this.#keysOf[partitionFor(Buffer.from(`k${key}`), partitions)]?.push(key);
  }

  get count(): number {
    return this.#count;
  }

  /** Adds further ones, for {@link produce} to write. */
  grow(by: number): void {
    this.#count += by;
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

  /** Writes those that are not written yet. Rejects when the topic holds something else. */
  async produce(kafka: Kafka, topic: string, progress: (written: number) => void): Promise<void> {
    const producer = kafka.producer({ allowAutoTopicCreation: false });
    await producer.connect();
    const perRound = Math.max(1, Math.floor(6_000 / this.keys)) * this.keys;
    try {
      while (this.#written < this.#count) {
        const rounds = this.#keysOf.map(() => [] as { key: string; value: string; partition: number }[]);
        const end = Math.min(this.#count, this.#written + perRound);
        for (let i = this.#written; i < end; i++) {
          const key = `k${i % this.keys}`;
          const partition = partitionFor(Buffer.from(key), partitions);
          rounds[partition]?.push({ key, value: this.#value(i), partition });
        }
        // One partition each: a retry of a send over several could write some of them twice.
        await Promise.all(
          rounds.map(async (messages, partition) => {
            if (messages.length === 0) return;
            const [reply] = await producer.send({ topic, acks: -1, messages });
            if (Number(reply?.baseOffset) !== this.#ends[partition])
              throw new Error(`${topic}/${partition} holds something else`);
            this.#ends[partition] = (this.#ends[partition] ?? 0) + messages.length;
          }),
        );
        this.#written = end;
        progress(end);
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
