import { until } from './until.ts';
import type { World } from './world.ts';

/** Milliseconds until every partition that is behind has been committed further, beginning now. */
export async function takeOverMs(world: World): Promise<number> {
  const startedMs = Date.now();
  const [before, lag] = await Promise.all([world.group.committed(), world.group.lag()]);
  const waiting = new Set(lag.flatMap((left, partition) => (left > 0 ? [partition] : [])));
  await until(
    'every partition moves again',
    async () => {
      const now = await world.group.committed();
      for (const partition of waiting) if ((now[partition] ?? 0) > (before[partition] ?? 0)) waiting.delete(partition);
      return waiting.size === 0;
    },
    { progress: () => waiting.size, everyMs: 200 },
  );
  return Date.now() - startedMs;
}
