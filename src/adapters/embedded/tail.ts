import { Observable } from 'rxjs';

import type { InRecord } from '../../model/record.ts';

import { toInRecord } from './record-codec.ts';
import type { NextTurn } from './source.ts';
import type { OpenTopic } from './topics.ts';

/** What to read of a topic. */
export interface TailOptions {
  /** So many of the newest records first, oldest of them first. Default 10. */
  readonly last?: number;
  /** Go on with what is appended, until unsubscribed. Default `false`: complete. */
  readonly follow?: boolean;
}

const sliceRecords = 256;

/** Reads a topic beside any group: nothing is committed. Order is that of time for the first ones, then per partition. */
export function tailOf(topic: OpenTopic, options: TailOptions, nextTurn: NextTurn): Observable<InRecord> {
  return new Observable<InRecord>((subscriber) => {
    const { last = 10, follow = false } = options;
    const ends = topic.partitions.map((log) => log.end);
    for (const record of newest(topic, ends, last)) subscriber.next(record);
    if (!follow) {
      subscriber.complete();
      return undefined;
    }
    let scheduled = false;
    const deliver = (): void => {
      scheduled = false;
      if (subscriber.closed) return;
      let left = sliceRecords;
      for (const [partition, log] of topic.partitions.entries()) {
        for (const [offset, blob] of log.from(ends[partition] ?? 0)) {
          if (left-- <= 0) break;
          ends[partition] = offset + 1;
          subscriber.next(toInRecord(topic.name, partition, offset, blob));
        }
      }
      if (left <= 0) wake();
    };
    const wake = (): void => {
      if (scheduled) return;
      scheduled = true;
      nextTurn(deliver);
    };
    const stops = topic.partitions.map((log) => log.onAppend(wake));
    return () => {
      for (const stop of stops) stop();
    };
  });
}

function newest(topic: OpenTopic, ends: readonly number[], count: number): InRecord[] {
  const found = topic.partitions.flatMap((log, partition) => {
    const end = ends[partition] ?? 0;
    const records: InRecord[] = [];
    for (const [offset, blob] of log.from(Math.max(0, end - count))) {
      if (offset < end) records.push(toInRecord(topic.name, partition, offset, blob));
    }
    return records;
  });
  return found.sort((a, b) => a.timestampMs - b.timestampMs).slice(-count || found.length);
}
