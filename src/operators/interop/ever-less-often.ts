import type { RepeatConfig } from 'rxjs';

import type { Timers } from '../../ports/clock.ts';

import { after } from './after.ts';

const firstMs = 25;
const growth = 1.5;
const longestMs = 200;

/**
 * For `repeat`, where a store is asked again until something has ended: soon at first, since most things end soon, then ever
 * less often. 25 ms, half as much more each time, 200 ms at most.
 */
export function everLessOften(timers: Timers): RepeatConfig {
  const config: RepeatConfig = {
    delay: (count) => after(timers, Math.min(firstMs * growth ** (count - 1), longestMs)),
  };
  return config;
}
