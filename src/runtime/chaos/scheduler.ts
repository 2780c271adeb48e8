import { systemClock, systemTimers } from '../../adapters/system/clock.ts';
import { messageOf } from '../../model/errors.ts';
import { isoTime } from '../../model/time.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Random } from '../../ports/random.ts';
import { seeded } from '../../sandbox/world-ports.ts';

import type { Schedule } from './schedule-file.ts';

/** What the scheduler works with. */
export interface SchedulerParts {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Picks scenarios and seeds. */
  readonly random: Random;
  readonly log: Logger;
  /** Runs one scenario file. */
  run(file: string, seed: number): Promise<unknown>;
}

const longestSleepMs = 600_000;

/**
 * Runs one scenario of each entry whenever its time comes, one after the other: what falls due while another runs comes after it, a time that is over
 * when the entry ends is left out. A run that rejects is logged, and the schedule goes on. @returns ends it; what runs goes on
 */
export function startSchedule({ runs }: Schedule, parts: SchedulerParts): () => void {
  const { clock, timers, random, log } = parts;
  const cancels = new Map<number, () => void>();
  let stopped = false;
  let running: Promise<unknown> = Promise.resolve();

  const play = async (entry: number): Promise<void> => {
    const { scenarios } = runs[entry] ?? { scenarios: [] };
    const file = scenarios[Math.floor(random.next() * scenarios.length)];
    const seed = 1 + Math.floor(random.next() * 1_000_000);
    if (file === undefined || stopped) return;
    log.info({ file, seed }, 'a scenario begins');
    await parts.run(file, seed).catch((error: unknown) => {
      log.error({ file, seed, error: messageOf(error) }, 'a scenario could not be run');
    });
  };
  const arm = (entry: number): void => {
    const dueMs = runs[entry]?.nextAfter(clock.wall());
    if (dueMs === undefined || stopped) return;
    log.info({ entry, at: isoTime(dueMs) }, 'the next scenario');
    const wait = (): void => {
      const leftMs = dueMs - clock.wall();
      // Looked at again in between: wall clocks are set, machines sleep.
      cancels.set(
        entry,
        timers.after(Math.min(Math.max(leftMs, 0), longestSleepMs), leftMs <= longestSleepMs ? due : wait),
      );
    };
    const due = (): void => {
      if (clock.wall() < dueMs) {
        wait();
        return;
      }
      running = running.then(() => play(entry)).then(() => arm(entry));
    };
    wait();
  };
  for (const entry of runs.keys()) arm(entry);
  return () => {
    stopped = true;
    for (const cancel of cancels.values()) cancel();
  };
}

/** The same in real time, with a seed of its own for what it picks. */
export function runSchedule(
  schedule: Schedule,
  { seed, ...parts }: Pick<SchedulerParts, 'log' | 'run'> & { readonly seed: number },
): () => void {
  return startSchedule(schedule, { ...parts, clock: systemClock, timers: systemTimers, random: seeded(seed) });
}
