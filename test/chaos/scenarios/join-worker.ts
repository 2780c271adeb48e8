import { setTimeout as sleep } from 'node:timers/promises';

import { atMost, reportOf } from '../../../src/runtime/report.ts';
import type { Scenario } from '../scenario.ts';
import { Calls } from '../world/calls.ts';
import { sum } from '../world/group.ts';
import { playedFigures, recovery } from '../world/play.ts';
import { Signs } from '../world/signs.ts';
import { until } from '../world/until.ts';
import { judge, untilAllCommitted } from '../world/verdict.ts';
import { usualInFlight, World } from '../world/world.ts';

const perSecond = 200;
const everyMs = 200;
const secondsBefore = 5;
const secondsAfter = 5;
// What a group that keeps up has on its way.
const usualLag = 100;

/** S004-22: a second worker joins under load that does not stop: what moves is not done again, and nobody falls behind. */
export const joinWorker: Scenario = async ({ keys, services, tell }) => {
  const calls = new Calls(perSecond, Math.min(keys, perSecond));
  return World.around({ services, perSecond: 3 * perSecond, latencyMs: 100 }, async (world) => {
    await world.worker();
    const state = { loading: true };
    const load = async (): Promise<void> => {
      while (state.loading) {
        await world.produce(calls, tell);
        calls.grow((perSecond * everyMs) / 1_000);
        await sleep(everyMs);
      }
      await world.produce(calls, tell);
    };
    const loaded = load();
    let effects = 0;
    const enough = perSecond * secondsBefore;
    await until('some are done', async () => (effects = await world.sandbox.effects()) >= enough, {
      progress: () => effects,
    });
    const signs = await Signs.watch(world);
    await world.worker();
    await until('the two share the partitions', async () => {
      const held = await Promise.all(world.running.map((one) => one.metric('larkspur_kafka_assigned_partitions')));
      return held.every(([count = 0]) => count > 0);
    });
    const joinedMs = Date.now();
    let lag = Infinity;
    await until('nobody is behind', async () => (lag = sum(await world.group.lag())) < usualLag, {
      progress: () => lag,
      everyMs: 100,
    });
    const recoverMs = Date.now() - joinedMs;
    const played = [{ fault: 'worker joined', detectMs: await signs.stop(), recoverMs }];
    await sleep(secondsAfter * 1_000);
    state.loading = false;
    await loaded;
    await untilAllCommitted(world, tell);
    const { bars, figures } = await judge(world, calls);
    const own = [
      atMost('sentAgain', figures.sentAgain, usualInFlight),
      atMost('behindSeconds', Math.round(recoverMs / 100) / 10, 10),
    ];
    return reportOf('join', [...bars, ...own, ...recovery(played)], { ...figures, ...playedFigures(played) });
  });
};
