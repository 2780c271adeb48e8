import { Observable } from 'rxjs';

import type { Timers } from '../../ports/clock.ts';

/** Emits once after `ms` and completes. Unsubscribing cancels the timer. */
export function after(timers: Timers, ms: number): Observable<true> {
  return new Observable((subscriber) =>
    timers.after(ms, () => {
      subscriber.next(true);
      subscriber.complete();
    }),
  );
}
