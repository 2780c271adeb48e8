import { Observable } from 'rxjs';

import type { InRecord } from '../../model/record.ts';

import { larkspurErrorOf } from './errors.ts';
import { type ScanOptions, TopicScan } from './topic-scan.ts';

/** What reading the end of a topic needs. */
export interface KafkaTailOptions extends ScanOptions {
  /** So many of the newest records first, oldest of them first. */
  readonly last: number;
  /** Go on with what is appended, until unsubscribed; else complete. */
  readonly follow: boolean;
}

/**
 * Reads the end of a topic beside any group of ours. Memory: up to `last` records per partition. Errors with
 * `topic_missing` or `kafka_unavailable`.
 */
export function kafkaTail(topic: string, options: KafkaTailOptions): Observable<InRecord> {
  const { last, follow } = options;
  return new Observable<InRecord>((subscriber) => {
    let kept: InRecord[] | undefined = [];
    const scan = new TopicScan(topic, options, {
      wants: ({ begin, end }) => ({ from: Math.max(begin, end - last), to: end }),
      record: (record) => {
        if (kept === undefined) subscriber.next(record);
        else kept.push(record);
      },
      // What was there at the start is read: the newest of it go out in order of time.
      reachedEnd: () => {
        const found = (kept ?? []).sort((a, b) => a.timestampMs - b.timestampMs || a.offset - b.offset);
        kept = undefined;
        for (const record of last === 0 ? [] : found.slice(-last)) subscriber.next(record);
        return follow;
      },
    });
    scan.run().then(
      () => subscriber.complete(),
      (error: unknown) => subscriber.error(larkspurErrorOf(error, `tail ${topic}`)),
    );
    return () => scan.stop();
  });
}
