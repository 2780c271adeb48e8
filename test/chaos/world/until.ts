import { setTimeout as sleep } from 'node:timers/promises';

interface Patience {
  /** While this changes, there is no hurry. */
  readonly progress?: () => unknown;
  /** Longest time without progress. */
  readonly idleMs?: number;
  readonly everyMs?: number;
}

/** Looks again and again until it is so; rejects when nothing has moved for long. How long it takes is no matter. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  { progress = () => 0, idleMs = 180_000, everyMs = 100 }: Patience = {},
): Promise<void> {
  let seen = progress();
  let movedMs = Date.now();
  while (!(await holds())) {
    const now = progress();
    if (now !== seen) {
      seen = now;
      movedMs = Date.now();
    }
    if (Date.now() - movedMs > idleMs)
      throw new Error(`nothing has moved for ${idleMs / 1_000} s until ${what} (at ${String(now)})`);
    await sleep(everyMs);
  }
}
