import { NEVER, type Observable, of } from 'rxjs';

import { light } from '../../../src/operators/interop/light.ts';
import type { ClaimReply, ClaimStore } from '../../../src/ports/claim-store.ts';
import type { Ack, RecordSink } from '../../../src/ports/record-sink.ts';
import type { RecordSource } from '../../../src/ports/record-source.ts';
import type { Stores } from '../../../src/runtime/stores.ts';

/** What may be left out, to measure what it costs: each makes calls lost or done twice after a crash. */
export const safeties = ['claims', 'metadata', 'acks'] as const;

/** One of {@link safeties}, or all of them. */
export type Safety = (typeof safeties)[number] | 'all';

const granted: ClaimReply = { kind: 'granted', fence: 1, firstSentAgoMs: undefined, takeovers: 0 };
const written: Ack = { kind: 'written', partition: 0, offset: 0 };

const fail = (error: unknown): never => {
  throw error;
};

function atOnce<T>(value: T): Observable<T> {
  const handle = { unsubscribe: () => undefined };
  return light<T>((observer) => {
    observer.next(value);
    observer.complete();
    return handle;
  });
}

/** Grants everything and remembers nothing. */
const noClaims: ClaimStore = {
  claim: () => atOnce(granted),
  finish: () => atOnce(true),
  extend: (claims) => of(claims.map(() => true)),
  view: () => NEVER,
  cancel: () => NEVER,
  ready: () => true,
};

/**
 * The stores of a worker without one of its safeties: claims in Redis, completions in the metadata of commits, or the
 * wait for the acknowledgement of the terminal record.
 */
export function storesWithout(safety: Safety | undefined, stores: Stores): Stores {
  const leftOut = (one: Safety): boolean => safety === one || safety === 'all';
  return {
    ...stores,
    claims: leftOut('claims') ? noClaims : stores.claims,
    source: () => (leftOut('metadata') ? withoutMetadata(stores.source()) : stores.source()),
    sink: leftOut('acks') ? withoutAcks(stores.sink) : stores.sink,
  };
}

function withoutMetadata(source: RecordSource): RecordSource {
  const commit$ = source.commit.bind(source);
  return Object.assign(source, {
    commit: ((commits) => commit$(commits.map((one) => ({ ...one, metadata: '' })))) satisfies RecordSource['commit'],
  });
}

function withoutAcks(sink: RecordSink): RecordSink {
  const bare: RecordSink = {
    append: (record) => {
      sink.append(record).subscribe({ error: fail });
      return atOnce(written);
    },
    flush: () => sink.flush(),
    trouble: (topic) => sink.trouble(topic),
  };
  return bare;
}
