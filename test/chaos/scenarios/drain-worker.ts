import { atLeast, atMost, reportOf } from '../../../src/runtime/report.ts';
import type { Scenario } from '../scenario.ts';
import { Calls } from '../world/calls.ts';
import { playedFigures, recovery } from '../world/play.ts';
import { Signs } from '../world/signs.ts';
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
  return World.around({ services, perSecond, latencyMs: 500, sessionTimeoutMs }, async (world) => {
    const leaver = await world.worker();
    const stayer = await world.worker();
    // A partition that moves to a joining member brings records again: here only the end of a member is looked at.
    await until('the two share the partitions', async () => {
      const held = await Promise.all(
        [leaver, stayer].map((worker) => worker.metric('larkspur_kafka_assigned_partitions')),
      );
      const [[mine = 0] = [], [theirs = 0] = []] = held;
      return mine > 0 && mine === theirs;
    });
    await world.produce(calls, tell);
    let effects = 0;
    await until('a quarter is done', async () => (effects = await world.sandbox.effects()) >= count / 4, {
      progress: () => effects,
      everyMs: 20,
    });
    // A limit lets calls go in bursts: the signal must meet one.
    let inFlight = 0;
    await until('the leaver has calls in flight', async () => {
      inFlight = (await leaver.metric('larkspur_in_flight')).reduce((total, one) => total + one, 0);
      return inFlight > 0;
    });
    tell(`SIGTERM with ${inFlight} attempts in flight`);
    const signs = await Signs.watch(world);
    const exitCode = await leaver.drain();
    const tookOverMs = await takeOverMs(world);
    const played = [{ fault: 'worker drained', detectMs: await signs.stop(), recoverMs: tookOverMs }];
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
    return reportOf('drain', [...bars, ...own, ...recovery(played)], { ...figures, ...playedFigures(played) });
  });
};
