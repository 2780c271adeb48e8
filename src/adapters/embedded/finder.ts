import { defer, type Observable, of } from 'rxjs';

import { eventName } from '../../model/event.ts';
import { partitionFor } from '../../model/partitioner.ts';
import type { Position, RecordFinder, Wanted } from '../../ports/record-finder.ts';

import { timeOf, toInRecord } from './record-codec.ts';
import type { OpenTopic, Topics } from './topics.ts';

const stride = 1_000;

/** {@link RecordFinder} over the logs of this process. */
export class EmbeddedFinder implements RecordFinder {
  readonly #topics: Topics;

  constructor(topics: Topics) {
    this.#topics = topics;
  }

  find(wanted: Wanted): Observable<Position | undefined> {
    return defer(() => of(positionOf(this.#topics.get(wanted.topic), wanted)));
  }
}

/** Looked for from the end of its partition back to the time that is asked for. */
function positionOf({ name, partitions }: OpenTopic, { key, name: wanted, sinceMs }: Wanted): Position | undefined {
  const partition = partitionFor(key, partitions.length);
  const log = partitions[partition];
  if (log === undefined) return undefined;
  for (let end = log.end; end > log.first;) {
    const start = Math.max(log.first, end - stride);
    let older = false;
    for (const [offset, blob] of log.from(start)) {
      if (offset >= end) break;
      if (timeOf(blob) < sinceMs) older = true;
      else if (eventName(toInRecord(name, partition, offset, blob).headers) === wanted) return { partition, offset };
    }
    if (older) return undefined;
    end = start;
  }
  return undefined;
}
