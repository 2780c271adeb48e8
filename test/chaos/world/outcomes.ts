import { createHash } from 'node:crypto';

import type { Kafka, KafkaMessage } from 'kafkajs';

import type { Calls } from './calls.ts';
import { until } from './until.ts';

interface Outcome {
  readonly kind: string;
  readonly bytes: string;
  copies: number;
  contradicted: boolean;
  differs: boolean;
}

const unknown = 'dead letter: outcome_unknown';

/** Every terminal record of a run, by call. */
export class Outcomes {
  readonly #calls: Calls;
  readonly #byId = new Map<string, Outcome>();
  #foreign = 0;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  add(id: string | undefined, kind: string, value: Buffer): void {
    if (id === undefined || !this.#calls.has(id)) {
      this.#foreign++;
      return;
    }
    const bytes = createHash('sha1').update(value).digest('base64');
    const known = this.#byId.get(id);
    if (known === undefined) {
      this.#byId.set(id, { kind, bytes, copies: 1, contradicted: false, differs: false });
      return;
    }
    known.copies++;
    known.contradicted ||= known.kind !== kind;
    known.differs ||= known.bytes !== bytes;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Calls with a terminal record. */
  get size(): number {
    return this.#byId.size;
  }

  get lost(): number {
    return this.#calls.count - this.#byId.size;
  }

  /** Calls with records that say different things: ok here, dead letter there. */
  get contradicted(): number {
    return this.#count(({ contradicted }) => contradicted);
  }

  /** Calls with records that are not the same bytes. */
  get differing(): number {
    return this.#count(({ differs }) => differs);
  }

  /** Of these, calls without a key of the platform: nothing makes up for a second attempt at them. */
  get differingPlain(): number {
    return [...this.#byId].filter(([id, { differs }]) => differs && this.#calls.isPlain(id)).length;
  }

  /** Copies beyond the first: a crash between write and commit. */
  get repeatedRecords(): number {
    return [...this.#byId.values()].reduce((sum, { copies }) => sum + copies - 1, 0);
  }

  get deadLetters(): number {
    return this.#count(({ kind }) => kind.startsWith('dead letter'));
  }

  /** Calls whose outcome is reported as unknown, of an API where that is the honest answer. */
  get reportedUnknown(): number {
    return [...this.#byId].filter(([id, { kind }]) => kind === unknown && this.#calls.isPlain(id)).length;
  }

  /** Records of nobody's call. */
  get foreign(): number {
    return this.#foreign;
  }

  get byKind(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { kind } of this.#byId.values()) counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  }

  /** The first ids without an outcome. */
  missing(most: number): string[] {
    const ids: string[] = [];
    for (let i = 0; i < this.#calls.count && ids.length < most; i++) if (!this.has(`c${i}`)) ids.push(`c${i}`);
    return ids;
  }

  #count(which: (outcome: Outcome) => boolean): number {
    let count = 0;
    for (const outcome of this.#byId.values()) if (which(outcome)) count++;
    return count;
  }
}

/** Reads `results` and `dead-letters` from their start to where they end now. */
export async function readOutcomes(kafka: Kafka, prefix: string, calls: Calls): Promise<Outcomes> {
  const outcomes = new Outcomes(calls);
  const topics = { [`${prefix}results`]: fromResult, [`${prefix}dead-letters`]: fromDeadLetter };
  const admin = kafka.admin();
  await admin.connect();
  const left = new Map<string, number>();
  for (const topic of Object.keys(topics)) {
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
      if (Number(high) > Number(low)) left.set(`${topic}/${partition}`, Number(high));
    }
  }
  await admin.disconnect();
  const consumer = kafka.consumer({ groupId: `${prefix}judge-${Date.now()}`, maxWaitTimeInMs: 200 });
  let read = 0;
  await consumer.connect();
  await consumer.subscribe({ topics: Object.keys(topics), fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: 4,
    eachBatch: ({ batch }) => {
      const place = `${batch.topic}/${batch.partition}`;
      const end = left.get(place) ?? 0;
      for (const message of batch.messages) {
        if (Number(message.offset) >= end) continue;
        topics[batch.topic]?.(message, outcomes);
        read++;
      }
      if (Number(batch.lastOffset()) + 1 >= end) left.delete(place);
      return Promise.resolve();
    },
  });
  await until('all results are read', () => left.size === 0, { progress: () => read });
  await consumer.disconnect();
  return outcomes;
}

function fromResult({ value }: KafkaMessage, outcomes: Outcomes): void {
  const bytes = value ?? Buffer.alloc(0);
  const { id, status } = JSON.parse(bytes.toString()) as { id?: string; status?: string };
  outcomes.add(id, String(status), bytes);
}

function fromDeadLetter({ headers }: KafkaMessage, outcomes: Outcomes): void {
  const history = String(headers?.['larkspur-history'] ?? '{}');
  const { id } = JSON.parse(history) as { id?: string };
  outcomes.add(id, `dead letter: ${String(headers?.['larkspur-reason'])}`, Buffer.from(history));
}
