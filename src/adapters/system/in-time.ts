import type { Timers } from '../../ports/clock.ts';

/** What a promise comes to, or a rejection with `late()` after `limitMs`; what it comes to after that is ignored. */
export function inTime<T>(promise: Promise<T>, limitMs: number, timers: Timers, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(limitMs, () => reject(late()));
    promise.then(resolve, reject).finally(cancel);
  });
}
