import type { OperatorFunction } from 'rxjs';

import { eachOf } from '../../operators/lanes/each-of.ts';
import type { Ended, Job, Scheduled } from '../job.ts';
import { waitUntil, type Waiting, type Waits } from '../waiting.ts';

/** What hold needs. */
export type HoldContext = Waiting;

/**
 * Waiting outside: a call whose wait is long leaves for a delay topic before anybody claims it, and one that comes back
 * from there goes on with its wait, if that is not over.
 */
export function hold(context: HoldContext): OperatorFunction<Scheduled, Scheduled | Ended> {
  return eachOf((turn: Scheduled) => {
    const { item } = turn;
    if (item.kind !== 'call' || (item.longWait === undefined && item.leaving === undefined)) return turn;
    return holdOne(item, turn, context);
  });
}

function holdOne(job: Job, turn: Scheduled, context: HoldContext): Scheduled | Waits {
  const { longWait, leaving } = job;
  const nowMs = context.clock.now();
  job.leaving = undefined;
  const untilMs = Math.max(longWait?.untilMs ?? 0, leaving?.untilMs ?? 0);
  if (untilMs > nowMs) return waitUntil(job, turn, untilMs, leaving?.why ?? job.waitingFor ?? 'retry', context);
  job.longWait = undefined;
  return turn;
}
