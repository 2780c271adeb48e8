import type { Admin } from 'kafkajs';
import { Observable } from 'rxjs';

import type { InRecord } from '../../model/record.ts';
import { fromAbortable } from '../../operators/interop/from-abortable.ts';
import type { Bounds, Stretch, TopicReader } from '../../ports/topic-reader.ts';

import { brief, createClient } from './client.ts';
import { larkspurErrorOf } from './errors.ts';
import { boundsOf, type ScanOptions, TopicScan } from './topic-scan.ts';

/** {@link TopicReader} on Kafka: each question opens its own connections and closes them. */
export class KafkaReader implements TopicReader {
  readonly #options: ScanOptions;

  constructor(options: ScanOptions) {
    this.#options = options;
  }

  scan(topic: string, stretches?: readonly Stretch[]): Observable<InRecord> {
    return new Observable<InRecord>((subscriber) => {
      const scan = new TopicScan(topic, this.#options, {
        wants: ({ partition, begin, end }) => {
          const stretch =
            stretches === undefined
              ? { partition, from: 0, to: undefined }
              : stretches.find((one) => one.partition === partition);
          return stretch && { from: Math.max(begin, stretch.from), to: Math.min(end, stretch.to ?? end) };
        },
        record: (record) => subscriber.next(record),
        reachedEnd: () => false,
      });
      scan.run().then(
        () => subscriber.complete(),
        (error: unknown) => subscriber.error(larkspurErrorOf(error, `read ${topic}`)),
      );
      return () => scan.stop();
    });
  }

  cluster(): Observable<string> {
    return this.#ask('describe the cluster', async (admin) => (await admin.describeCluster()).clusterId);
  }

  bounds(topic: string): Observable<readonly Bounds[]> {
    const { prefix, timers } = this.#options;
    return this.#ask(`look at ${topic}`, (admin) => boundsOf(admin, prefix + topic, timers));
  }

  /** The first offset of each partition whose record was written then or later, the end where there is none. Emits once. */
  since(topic: string, wallMs: number): Observable<ReadonlyMap<number, number>> {
    const fullName = this.#options.prefix + topic;
    return this.#ask(`look at ${topic}`, async (admin) => {
      const found = await admin.fetchTopicOffsetsByTimestamp(fullName, wallMs);
      return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
    });
  }

  committed(group: string, topic: string): Observable<ReadonlyMap<number, number>> {
    const fullName = this.#options.prefix + topic;
    return this.#ask(`look at group ${group}`, async (admin) => {
      const [stored] = await admin.fetchOffsets({ groupId: group, topics: [fullName] });
      const known = (stored?.partitions ?? []).filter(({ offset }) => Number(offset) >= 0);
      return new Map(known.map(({ partition, offset }) => [partition, Number(offset)]));
    });
  }

  #ask<T>(doing: string, question: (admin: Admin) => Promise<T>): Observable<T> {
    return fromAbortable(async () => {
      const admin = createClient(this.#options.client, this.#options.logger, brief).admin();
      try {
        await admin.connect();
        return await question(admin);
      } catch (error) {
        throw larkspurErrorOf(error, doing);
      } finally {
        await admin.disconnect().catch(() => undefined);
      }
    });
  }
}
