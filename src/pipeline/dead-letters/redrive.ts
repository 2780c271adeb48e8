import { map, type Observable } from 'rxjs';

import { redriven } from '../../model/dead-letter.ts';
import { DeadLetterView } from '../../model/dead-letters/dead-letter-view.ts';
import { type DeadLetterFilter, matches } from '../../model/dead-letters/filter.ts';
import type { InRecord } from '../../model/record.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import type { ClaimStore } from '../../ports/claim-store.ts';
import type { RecordSink } from '../../ports/record-sink.ts';
import { claimLifeDefaults } from '../claim-keeper.ts';

/**
 * Why a dead letter is not sent again, or `undefined`. One whose outcome is unknown must be meant by name: it may have
 * taken effect; one whose own deadline has passed would only end again.
 */
export function passedOver(record: InRecord, filter: DeadLetterFilter, wallMs: number): string | undefined {
  const view = new DeadLetterView(record);
  if (!matches(view, filter)) return 'other';
  const { reason, id } = filter.fields;
  const named = reason?.includes('outcome_unknown') === true || id !== undefined;
  if (view.reason === 'outcome_unknown' && !named) return 'outcomeUnknown';
  return view.isTooLate(wallMs) ? 'tooLate' : undefined;
}

/** Sends a dead letter again: the call that it was, for a worker to make. Emits `sent` once it is durable. */
export function sendAgain(record: InRecord, sink: RecordSink): Observable<string> {
  return sink.append(redriven(record)).pipe(map(({ kind }) => (kind === 'written' ? 'sent' : 'tooLarge')));
}

const undoLeaseMs = 30_000;

/**
 * Takes a sending back, as long as no worker has begun with the call: its claim is closed for that round, so that the call
 * ends as the dead letter that it was. Emits `undone`, `underWay` or `done`.
 */
export function takeBack(record: InRecord, claims: ClaimStore): Observable<string> {
  const view = new DeadLetterView(record);
  const { id = '' } = view;
  const ttlMs = claimLifeDefaults.unkeyed;
  const ask = { id, origin: view.at, leaseMs: undoLeaseMs, ttlMs, sent: false, round: view.round + 1 };
  return andThen(claims.claim(ask), (reply): Observable<string> | string => {
    switch (reply.kind) {
      case 'granted': {
        const result = JSON.stringify(view.history);
        const ending = { claim: { id, fence: reply.fence }, state: 'DEAD', result, delayMs: 0, ttlMs } as const;
        return claims.finish(ending).pipe(map((ours) => (ours ? 'undone' : 'underWay')));
      }
      case 'pending':
      case 'not-due':
        return 'underWay';
      case 'processed':
      case 'dead':
        return 'done';
    }
  });
}
