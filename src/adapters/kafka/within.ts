import type { Timers } from '../../ports/clock.ts';

/** Waits for a promise, but not longer than `limitMs`. Resolves with whether it settled in time; never rejects. */
export function within(promise: Promise<unknown>, limitMs: number, timers: Timers): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = timers.after(limitMs, () => resolve(false));
    const settled = () => {
      cancel();
      resolve(true);
    };
    promise.then(settled, settled);
  });
}
