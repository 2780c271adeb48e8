import { setTimeout as sleep } from 'node:timers/promises';

import { atLeast, reportOf } from '../../../src/runtime/report.ts';
import { seededRandom } from '../../support/virtual-time.ts';
import type { Scenario } from '../scenario.ts';
import { Calls } from '../world/calls.ts';
import {
  cut,
  type Fault,
  freezeBroker,
  freezeRedis,
  freezeWorker,
  killBroker,
  killRedis,
  killWorker,
  restartBroker,
  slow,
  stutterBroker,
  stutterRedis,
  upstreamFault,
} from '../world/faults.ts';
import { type Played, play, playedFigures, recovery } from '../world/play.ts';
import { judge, untilAllCommitted } from '../world/verdict.ts';
import { World } from '../world/world.ts';

// Of all workers together: they share the quota.
const perSecond = 120;
const workers = 3;
const atOnce = 2;

/** What may happen; each lasts as long as chance says. */
const menu: readonly ((holdMs: number) => Fault)[] = [
  () => killWorker(0),
  () => killWorker(1),
  (ms) => freezeWorker(0, ms),
  (ms) => freezeWorker(2, ms),
  () => restartBroker,
  killBroker,
  freezeBroker,
  killRedis,
  freezeRedis,
  (ms) => upstreamFault('resets', [{ kind: 'reset-after', rate: 0.1 }], ms),
  (ms) => upstreamFault('answers 503', [{ kind: '503', rate: 0.5 }], ms),
  (ms) => upstreamFault('acts and never answers', [{ kind: 'timeout', rate: 0.1, acts: true }], ms),
  (ms) => cut('kafka', 'silence', ms),
  (ms) => cut('redis', 'silence', ms),
  (ms) => cut('upstream', 'silence', ms),
  (ms) => cut('kafka', 'break', ms),
  stutterBroker,
  stutterRedis,
  (ms) => slow('redis', 100, ms),
  (ms) => slow('kafka', 500, ms),
];

/**
 * Three workers, and for minutes faults that chance picks, two at a time. The same seed picks the same faults in the same
 * order; when each ends depends on the machine. Redis keeps its claims over a kill here: losing them together with a worker
 * is more than calls without a key of the platform can survive.
 */
export const severalFaults: Scenario = async ({ keys, minutes, seed, tell, say }) => {
  say(`several: --seed ${seed}`);
  const random = seededRandom(seed);
  const count = perSecond * 60 * minutes;
  const calls = new Calls(count, Math.min(keys, 300), { plainEvery: 10 });
  // With `everysec` Redis answers before it writes when a sync is slow, and a kill takes what it had answered.
  const redisArgs = ['--appendonly', 'yes', '--appendfsync', 'always'];
  const options = { services: {}, perSecond, latencyMs: 100, proxied: true, redisArgs };
  return World.around(options, async (world) => {
    await world.produce(calls, tell);
    await world.worker('far');
    for (let more = 1; more < workers; more++) await world.worker();
    const untilMs = Date.now() + minutes * 60_000;
    const played: Played[] = [];
    const busy = new Set<string>();
    let effects = 0;

    /** Picks and plays faults, one after the other; two of these run side by side. */
    const hurt = async (): Promise<void> => {
      while (Date.now() < untilMs && effects < count) {
        const pick = menu[Math.floor(random.next() * menu.length)];
        const fault = pick?.(1_000 + random.next() * 11_000);
        const gapMs = 500 + random.next() * 3_000;
        if (fault === undefined || busy.has(fault.at)) continue;
        busy.add(fault.at);
        try {
          tell(`${fault.name} for ${Math.round(fault.holdMs)} ms, after ${effects} effects`);
          played.push(await play(world, fault));
        } finally {
          busy.delete(fault.at);
        }
        effects = await world.sandbox.effects();
        await sleep(gapMs);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, hurt));
    await untilAllCommitted(world, tell);
    const { bars, figures } = await judge(world, calls, true);
    const own = [atLeast('faultsPlayed', played.length, minutes * 4)];
    return reportOf('several', [...bars, ...own, ...recovery(played)], {
      seed,
      minutes,
      ...figures,
      ...playedFigures(played),
    });
  });
};
