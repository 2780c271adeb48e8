import { atLeast, reportOf } from '../../../src/runtime/report.ts';
import type { Scenario } from '../scenario.ts';
import { Calls } from '../world/calls.ts';
import { takeOverMs } from '../world/take-over.ts';
import { until } from '../world/until.ts';
import { judge, untilAllCommitted } from '../world/verdict.ts';
import { World } from '../world/world.ts';

const killsAt = [0.2, 0.5];

/** Two workers; one of them is killed in mid-run and started again, twice. */
export const killWorker: Scenario = async ({ calls: count, keys, services, tell }) => {
  const calls = new Calls(count, keys);
  // A run of at least ten seconds, however few the calls: the kills must meet work under way.
  const perSecond = Math.max(50, Math.ceil(count / 20));
  // About as long as two commits are apart: an offset that counts as done too early is then stored before the kill.
  const latencyMs = count > 20_000 ? 50 : 400;
  return World.around({ services, perSecond, latencyMs }, async (world) => {
    await world.produce(calls, tell);
    const startedMs = Date.now();
    let victim = await world.worker();
    await world.worker();
    const takeOvers: number[] = [];
    let killsInMidRun = 0;
    for (const share of killsAt) {
      let effects = 0;
      await until(`${share * 100} % are done`, async () => (effects = await world.sandbox.effects()) >= count * share, {
        progress: () => effects,
        everyMs: 20,
      });
      await victim.kill9();
      if ((await world.sandbox.effects()) < count) killsInMidRun++;
      tell(`killed a worker after ${effects} effects`);
      [victim] = await Promise.all([world.worker(), takeOverMs(world).then((ms) => takeOvers.push(ms))]);
    }
    await untilAllCommitted(world, tell);
    const ms = Date.now() - startedMs;
    const { bars, figures } = await judge(world, calls);
    return reportOf('kill', [...bars, atLeast('killsInMidRun', killsInMidRun, killsAt.length)], {
      ...figures,
      seconds: Math.round(ms / 1_000),
      takeOverMs: takeOvers,
    });
  });
};
