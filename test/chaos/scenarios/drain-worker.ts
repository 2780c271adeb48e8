import { atLeast, atMost, reportOf } from '../../../src/runtime/report.ts';
import type { Scenario } from '../scenario.ts';
import { Calls } from '../world/calls.ts';
import { takeOverMs } from '../world/take-over.ts';
import { until } from '../world/until.ts';
import { judge, untilAllCommitted } from '../world/verdict.ts';
import { World } from '../world/world.ts';

// A member that is killed is missed after this; one that leaves must be replaced long before.
const sessionTimeoutMs = 30_000;

/** SIGTERM in mid-flight: it ends in order, nothing is lost or doubled, the other takes over at once. */
export const drainWorker: Scenario = async ({ calls: count, keys, services, tell }) => {
  const calls = new Calls(count, keys);
  const perSecond = Math.max(50, Math.ceil(count / 20));
  return World.around({ services, perSecond, latencyMs: 200 }, async (world) => {
    await world.produce(calls, tell);
    const leaver = await world.worker();
    await world.worker();
    let effects = 0;
    await until('a quarter is done', async () => (effects = await world.sandbox.effects()) >= count / 4, {
      progress: () => effects,
      everyMs: 20,
    });
    const inFlight = (await leaver.metric('larkspur_in_flight')).reduce((total, one) => total + one, 0);
    tell(`SIGTERM with ${inFlight} attempts in flight`);
    const [exitCode, tookOverMs] = await Promise.all([leaver.drain(), takeOverMs(world)]);
    await untilAllCommitted(world, tell);
    const others = await world.drainAll();
    const { bars, figures, outcomes } = await judge(world, calls);
    const own = [
      atMost('exitCode', exitCode ?? 255, 0),
      atMost('exitCodeOfTheRest', Math.max(...others.map((code) => code ?? 255)), 0),
      atLeast('inFlightAtSignal', inFlight, 1),
      // Records that were written and not committed: an orderly end leaves none.
      atMost('repeatedRecords', outcomes.repeatedRecords, 0),
      atMost('takeOverShareOfSession', Math.round((tookOverMs / sessionTimeoutMs) * 100) / 100, 0.5),
    ];
    return reportOf('drain', [...bars, ...own], { ...figures, takeOverMs: tookOverMs });
  });
};
