import { setTimeout as sleep } from 'node:timers/promises';

import { atLeast, reportOf } from '../../../src/runtime/report.ts';
import type { Scenario } from '../scenario.ts';
import { Calls } from '../world/calls.ts';
import { until } from '../world/until.ts';
import { judge, untilAllCommitted } from '../world/verdict.ts';
import { World } from '../world/world.ts';

const frozenMs = 5_000;

/** Redis is killed and comes back empty in mid-run; later it is frozen for five seconds. */
export const loseRedis: Scenario = async ({ calls: count, keys, tell }) => {
  const calls = new Calls(count, keys);
  return World.around(
    { services: {}, perSecond: Math.max(50, Math.ceil(count / 20)), latencyMs: 20 },
    async (world) => {
      const { redis } = world;
      await world.produce(calls, tell);
      await world.worker();
      await world.worker();
      let faultsInMidRun = 0;
      const at = async (share: number, fault: () => Promise<void>): Promise<void> => {
        let effects = 0;
        await until(
          `${share * 100} % are done`,
          async () => (effects = await world.sandbox.effects()) >= count * share,
          {
            progress: () => effects,
            everyMs: 20,
          },
        );
        tell(`hurting Redis after ${effects} effects`);
        if (effects < count) faultsInMidRun++;
        await fault();
      };
      await at(0.25, async () => {
        await redis?.kill9();
        await sleep(2_000);
        await redis?.start();
      });
      await at(0.55, async () => {
        redis?.pause();
        await sleep(frozenMs);
        redis?.resume();
      });
      await untilAllCommitted(world, tell);
      const { bars, figures } = await judge(world, calls, true);
      return reportOf('redis', [...bars, atLeast('faultsInMidRun', faultsInMidRun, 2)], figures);
    },
  );
};
