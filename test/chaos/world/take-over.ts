import { until } from './until.ts';
import type { World } from './world.ts';

/** Milliseconds until more of every partition that is behind has been committed as done, beginning now. */
export async function takeOverMs(world: World): Promise<number> {
  const startedMs = Date.now();
  let before: number[] | undefined;
  let waiting = new Set<number>();
  await until(
    'every partition moves again',
    async () => {
      try {
        const now = await world.group.done();
        if (before === undefined) {
          const lag = await world.group.lag();
          waiting = new Set(lag.flatMap((left, partition) => (left > 0 ? [partition] : [])));
          before = now;
        }
        for (const partition of waiting)
          if ((now[partition] ?? 0) > (before[partition] ?? 0)) waiting.delete(partition);
        return waiting.size === 0;
      } catch {
        // The broker may be away: another fault at the same time.
        return false;
      }
    },
    { progress: () => waiting.size, everyMs: 200 },
  );
  return Date.now() - startedMs;
}
