import { type Observable, reduce } from 'rxjs';

import { DeadLetterView } from '../../model/dead-letters/dead-letter-view.ts';
import type { InRecord } from '../../model/record.ts';
import type { TopicReader } from '../../ports/topic-reader.ts';

/** The newest dead letter that is meant, or `undefined`. Reads all of them, one at a time; emits once. */
export function newestDeadLetter(
  reader: Pick<TopicReader, 'scan'>,
  isMeant: (view: DeadLetterView) => boolean,
): Observable<InRecord | undefined> {
  return reader.scan('dead-letters').pipe(
    reduce<InRecord, InRecord | undefined>((found, record) => {
      const newer = record.timestampMs >= (found?.timestampMs ?? -Infinity);
      return newer && isMeant(new DeadLetterView(record)) ? record : found;
    }, undefined),
  );
}
