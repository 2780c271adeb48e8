import type { Observable } from 'rxjs';

import type { OutRecord } from '../model/record.ts';

/** What became of a write. */
export type Ack =
  | {
      readonly kind: 'written';
      readonly partition: number;
      readonly offset: number;
      /** When the store dated it, epoch milliseconds on its own clock; absent where it does not. */
      readonly storedAtMs?: number;
    }
  /** Larger than the topic takes, alone. The caller writes something smaller instead. */
  | { readonly kind: 'too-large'; readonly limitBytes: number };

/** What holds writes to a topic up, for people. */
export interface WriteTrouble {
  readonly why: string;
  /** Absent where only the store itself tells. */
  readonly cure?: string;
  /** Monotonic milliseconds; absent where nobody noted it. */
  readonly sinceMs?: number;
}

/**
 * Where terminal records go.
 *
 * Promises: `append` emits exactly once, when the record is durable (acks = all), then completes; records of one
 * partition keep the order of their `append` calls; while the store is away the write is held and tried again with
 * back-off, for ever, so the caller's permit is what bounds memory. Does not promise single copies: after a lost
 * acknowledgement a record may stand twice. Unsubscribing drops interest, not the write.
 */
export interface RecordSink {
  append(record: OutRecord): Observable<Ack>;
  /** Completes when everything appended so far is acknowledged. */
  flush(): Observable<void>;
  /** Why writes to this topic are held at present; `undefined` while they go through. */
  trouble(topic: string): WriteTrouble | undefined;
}
