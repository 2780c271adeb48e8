import type { Clock, Timers } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';

/** The machine's own clocks. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
};

// setTimeout fires at once above 2^31 - 1 ms, so longer waits are made of several.
const longestTimerMs = 2 ** 31 - 1;

/** The machine's own timers. Each keeps the process alive until it has fired or was cancelled. */
export const systemTimers: Timers = {
  after(ms, task) {
    let handle: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      handle = setTimeout(
        () => (leftMs > longestTimerMs ? arm(leftMs - longestTimerMs) : task()),
        Math.min(Math.max(leftMs, 0), longestTimerMs),
      );
    };
    arm(ms);
    return () => clearTimeout(handle);
  },
};

/** The engine's own generator. */
export const systemRandom: Random = { next: () => Math.random() };
