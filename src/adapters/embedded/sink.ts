import { Observable } from 'rxjs';

import { partitionFor } from '../../model/partitioner.ts';
import type { OutRecord } from '../../model/record.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ack, RecordSink, WriteTrouble } from '../../ports/record-sink.ts';

import { storedSize } from './record-codec.ts';
import type { Store } from './store.ts';
import type { Topics } from './topics.ts';

/**
 * {@link RecordSink} over the logs of this process. The write happens at subscription. Errors only with `topic_missing`.
 * While the disk is full, acknowledgements wait.
 */
export class EmbeddedSink implements RecordSink {
  readonly #topics: Topics;
  readonly #store: Store;
  readonly #clock: Clock;
  #spread = 0;

  constructor(topics: Topics, store: Store, clock: Clock) {
    this.#topics = topics;
    this.#store = store;
    this.#clock = clock;
  }

  append(record: OutRecord): Observable<Ack> {
    return new Observable<Ack>((subscriber) => {
      const topic = this.#topics.get(record.topic);
      const answer = (ack: Ack): void => {
        subscriber.next(ack);
        subscriber.complete();
      };
      if (storedSize(record) > topic.maxMessageBytes) {
        answer({ kind: 'too-large', limitBytes: topic.maxMessageBytes });
        return;
      }
      const count = topic.partitions.length;
      const wanted = record.partition ?? (record.key === null ? this.#spread++ : partitionFor(record.key, count));
      const partition = wanted % count;
      topic.partitions[partition]?.append(record, this.#clock.wall(), (offset) =>
        answer({ kind: 'written', partition, offset }),
      );
    });
  }

  trouble(): WriteTrouble | undefined {
    if (this.#store.ready()) return undefined;
    return { why: 'the data folder takes no writes', cure: 'make room on its disk: it is tried again by itself' };
  }

  flush(): Observable<void> {
    return new Observable<void>((subscriber) =>
      this.#store.whenDurable(() => {
        subscriber.next();
        subscriber.complete();
      }),
    );
  }
}
