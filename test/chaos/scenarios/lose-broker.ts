import { setTimeout as sleep } from 'node:timers/promises';

import { atLeast, reportOf } from '../../../src/runtime/report.ts';
import type { Scenario } from '../scenario.ts';
import { Calls } from '../world/calls.ts';
import { until } from '../world/until.ts';
import { judge, untilAllCommitted } from '../world/verdict.ts';
import { World } from '../world/world.ts';

// Longer than the session timeout of the group.
const frozenMs = 40_000;

/** The broker is restarted on its data in mid-run; later it is frozen for longer than a member may be silent. */
export const loseBroker: Scenario = async ({ calls: count, keys, tell }) => {
  const calls = new Calls(count, keys);
  return World.around(
    { services: {}, perSecond: Math.max(50, Math.ceil(count / 20)), latencyMs: 20 },
    async (world) => {
      const { broker } = world;
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
        tell(`hurting the broker after ${effects} effects`);
        if (effects < count) faultsInMidRun++;
        await fault();
      };
      await at(0.25, async () => {
        await broker?.restart();
      });
      await at(0.6, async () => {
        broker?.pause();
        await sleep(frozenMs);
        broker?.resume();
      });
      await untilAllCommitted(world, tell);
      const { bars, figures } = await judge(world, calls);
      return reportOf('broker', [...bars, atLeast('faultsInMidRun', faultsInMidRun, 2)], figures);
    },
  );
};
