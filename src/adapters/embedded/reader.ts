import { defer, Observable, of } from 'rxjs';

import type { InRecord } from '../../model/record.ts';
import type { Bounds, Stretch, TopicReader } from '../../ports/topic-reader.ts';

import type { Offsets } from './offsets.ts';
import { toInRecord } from './record-codec.ts';
import type { NextTurn } from './source.ts';
import type { OpenTopic, Topics } from './topics.ts';

// The event loop turns in between: a long topic must not stop the process that holds the folder.
const sliceRecords = 2_000;

/** {@link TopicReader} over the logs of this process. */
export class EmbeddedReader implements TopicReader {
  readonly #topics: Topics;
  readonly #offsets: Offsets;
  readonly #clusterId: string;
  readonly #nextTurn: NextTurn;

  constructor(topics: Topics, offsets: Offsets, clusterId: string, nextTurn: NextTurn) {
    this.#topics = topics;
    this.#offsets = offsets;
    this.#clusterId = clusterId;
    this.#nextTurn = nextTurn;
  }

  scan(name: string, stretches?: readonly Stretch[]): Observable<InRecord> {
    return new Observable((subscriber) => {
      const topic = this.#topics.get(name);
      const open = boundsOf(topic).flatMap(({ partition, begin, end }) => {
        const stretch =
          stretches === undefined
            ? { partition, from: 0, to: undefined }
            : stretches.find((one) => one.partition === partition);
        if (stretch === undefined) return [];
        return [{ partition, next: Math.max(begin, stretch.from), to: Math.min(end, stretch.to ?? end) }];
      });
      const readOn = (): void => {
        if (subscriber.closed) return;
        let left = sliceRecords;
        for (let part = open[0]; part !== undefined && left > 0; part = open[0]) {
          const slice = sliceOf(topic, part.partition, part.next, part.to, left);
          left -= slice.length;
          for (const record of slice) subscriber.next(record);
          part.next = (slice.at(-1)?.offset ?? part.to) + 1;
          if (slice.length === 0 || part.next >= part.to) open.shift();
        }
        if (open.length === 0) subscriber.complete();
        else this.#nextTurn(readOn);
      };
      readOn();
    });
  }

  cluster(): Observable<string> {
    return of(this.#clusterId);
  }

  bounds(name: string): Observable<readonly Bounds[]> {
    return defer(() => of(boundsOf(this.#topics.get(name))));
  }

  committed(group: string, name: string): Observable<ReadonlyMap<number, number>> {
    return defer(() => {
      const offsets = new Map<number, number>();
      for (const partition of this.#topics.get(name).partitions.keys()) {
        const stored = this.#offsets.get(group, { topic: name, partition });
        if (stored !== undefined) offsets.set(partition, stored.offset);
      }
      return of(offsets);
    });
  }
}

function boundsOf(topic: OpenTopic): Bounds[] {
  return topic.partitions.map((log, partition) => ({ partition, begin: log.first, end: log.end }));
}

/** Copied before it is handed over, so that no cursor is open while the receiver writes. */
function sliceOf(topic: OpenTopic, partition: number, from: number, to: number, most: number): InRecord[] {
  const slice: InRecord[] = [];
  if (most <= 0 || from >= to) return slice;
  for (const [offset, blob] of topic.partitions[partition]?.from(from) ?? []) {
    if (offset >= to) break;
    slice.push(toInRecord(topic.name, partition, offset, blob));
    if (slice.length >= most) break;
  }
  return slice;
}
