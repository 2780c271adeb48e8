import type { Observable } from 'rxjs';

import type { SourceEvent } from '../ports/record-source.ts';

import type { House } from './house.ts';
import type { Settled } from './job.ts';
import { admit } from './stages/admit.ts';
import { attempt } from './stages/attempt.ts';
import { cancel } from './stages/cancel.ts';
import { claim } from './stages/claim.ts';
import { classify } from './stages/classify.ts';
import { commit } from './stages/commit.ts';
import { decode } from './stages/decode.ts';
import { fallback } from './stages/fallback.ts';
import { hold } from './stages/hold.ts';
import { recall } from './stages/recall.ts';
import { retry } from './stages/retry.ts';
import { schedule } from './stages/schedule.ts';
import { settle } from './stages/settle.ts';

/**
 * The whole story: a record becomes a call, waits for its turn, is claimed, attempted, judged, ended, written down and
 * committed. Each stage takes what the one before it makes, so another order does not compile.
 *
 * A call that must wait (quota, breaker, back-off) leaves the stream at `attempt` or `retry`, returns to the front of its
 * lane and comes through again; while it waits it holds its lane and its claim, nothing else. A long wait ends its visit:
 * `settle` writes it to a delay topic, from which it is read again when its time has come. How much is under way is bounded
 * by turns: `schedule` asks the rings for what it has room for, and the rings pause what is not asked for.
 *
 * The stream errors only when the process should stop. Unsubscribing aborts what is in flight.
 */
export const dispatchPipeline =
  (house: House) =>
  (event$: Observable<SourceEvent>): Observable<Settled> => {
    const turn$ = event$.pipe(decode(house), admit(house), schedule(house), hold(house), cancel(house));
    return turn$.pipe(
      claim(house),
      recall(house),
      attempt(house),
      classify(house),
      retry(house),
      fallback(house),
      settle(house),
      commit(house),
    );
  };
