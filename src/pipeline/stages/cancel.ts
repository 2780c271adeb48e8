import { filter, merge, type OperatorFunction, Subject, takeUntil, tap } from 'rxjs';

import type { Cancellations } from '../cancellations.ts';
import type { Ended, Scheduled } from '../job.ts';
import type { Turns } from '../turns.ts';

/** What cancel needs. */
export interface CancelContext {
  readonly cancellations: Cancellations;
  readonly turns: Turns;
}

/**
 * Lets cancelled calls through at once, wherever they wait. What is left of one in its lane is dropped when its turn
 * comes: it has ended long ago.
 */
export function cancel({
  cancellations,
  turns,
}: CancelContext): OperatorFunction<Scheduled | Ended, Scheduled | Ended> {
  return (work$) => {
    const done$ = new Subject<void>();
    const left$ = work$.pipe(
      filter((work) => {
        const { item } = work;
        if (item.kind !== 'call' || !item.over) return true;
        turns.end(item, 'turn' in work ? work.turn : work);
        return false;
      }),
      tap({ complete: () => done$.next() }),
    );
    return merge(left$, cancellations.turn$.pipe(takeUntil(done$)));
  };
}
