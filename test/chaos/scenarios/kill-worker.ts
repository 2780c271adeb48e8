import { atLeast, atMost, reportOf } from '../../../src/runtime/report.ts';
import type { Scenario } from '../scenario.ts';
import { Calls } from '../world/calls.ts';
import * as faults from '../world/faults.ts';
import { type Played, play, playedFigures, recovery } from '../world/play.ts';
import { until } from '../world/until.ts';
import { judge, untilAllCommitted } from '../world/verdict.ts';
import { usualInFlight, World } from '../world/world.ts';

const killsAt = [0.2, 0.5];

/** Two workers at full load; one of them is killed in mid-run and started again, twice. */
export const killWorker: Scenario = async ({ calls: count, keys, services, tell }) => {
  const calls = new Calls(count, keys);
  // A run of at least ten seconds, however few the calls: the kills must meet work under way.
  const perSecond = Math.max(50, Math.ceil(count / 20));
  // About as long as two commits are apart: an offset that counts as done too early is then stored before the kill.
  const latencyMs = count > 20_000 ? 50 : 400;
  return World.around({ services, perSecond, latencyMs }, async (world) => {
    await world.produce(calls, tell);
    const startedMs = Date.now();
    await world.worker();
    await world.worker();
    const played: Played[] = [];
    let killsInMidRun = 0;
    for (const share of killsAt) {
      let effects = 0;
      await until(`${share * 100} % are done`, async () => (effects = await world.sandbox.effects()) >= count * share, {
        progress: () => effects,
        everyMs: 20,
      });
      tell(`killing a worker after ${effects} effects`);
      if (effects < count) killsInMidRun++;
      played.push(await play(world, faults.killWorker(0)));
    }
    await untilAllCommitted(world, tell);
    const ms = Date.now() - startedMs;
    const { bars, figures } = await judge(world, calls);
    const own = [
      atLeast('killsInMidRun', killsInMidRun, killsAt.length),
      // Only what was in flight is sent again, under its key.
      atMost('sentAgain', figures.sentAgain, killsAt.length * usualInFlight),
    ];
    return reportOf('kill', [...bars, ...own, ...recovery(played)], {
      ...figures,
      ...playedFigures(played),
      seconds: Math.round(ms / 1_000),
    });
  });
};
