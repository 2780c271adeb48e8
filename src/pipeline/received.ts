import type { InRecord } from '../model/record.ts';
import type { AssignedPartition } from '../ports/record-source.ts';

import type { RecordTrace } from './trace/record-trace.ts';

/** A record as it was read, with the name that it keeps for ever. */
export interface Received {
  readonly partition: AssignedPartition;
  readonly record: InRecord;
  /** Of the record that first brought the call: one out of a delay topic keeps it. */
  readonly origin: string;
  /** Monotonic: when the call was first read, by whoever did. */
  readonly readAtMs: number;
  /** What the record holds in a buffer. */
  readonly bytes: number;
  /** Of a record in a delay topic. */
  readonly held?: Outside;
  /** Only of a trace that is kept. */
  readonly trace?: RecordTrace | undefined;
}

/** What is special about a record that comes out of a delay topic. */
export interface Outside {
  /** Monotonic: its topic holds every record until then. */
  readonly dueMs: number;
  /** Where the call stood first. */
  readonly first: Pick<InRecord, 'topic' | 'partition' | 'offset' | 'timestampMs'>;
}
