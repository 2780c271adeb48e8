import { atLeast, type Bar, reportOf } from '../../../src/runtime/report.ts';
import type { Scenario } from '../scenario.ts';
import { Calls } from '../world/calls.ts';
import type { Fault } from '../world/faults.ts';
import { type Played, play, playedFigures, recovery } from '../world/play.ts';
import { until } from '../world/until.ts';
import { judge, untilAllCommitted, type Verdict } from '../world/verdict.ts';
import { World, type WorldOptions } from '../world/world.ts';

/** A scenario of the usual form: some workers at a backlog, and faults one after the other. */
interface Plan {
  readonly name: string;
  /** What goes wrong, one after the other. */
  readonly faults: readonly Fault[];
  readonly world?: Partial<WorldOptions>;
  /** Default 2. */
  readonly workers?: number;
  /** The fault touches services, so they must be the run's own. */
  readonly own?: boolean;
  /** With few keys those of a worker that went are soon at the head of the line at the next one. */
  readonly mostKeys?: number;
  /** Long calls of few keys take their time, however many workers there are. */
  readonly mostCalls?: number;
  /** Each nth key has calls of an API without a key of the platform. */
  readonly plainEvery?: number;
  /** Claims are lost or out of reach, so a call may be answered twice under its key. */
  readonly mayDiffer?: boolean;
  /** What else must hold when all is done. */
  readonly more?: (world: World, verdict: Verdict) => Promise<Bar[]>;
}

const secondsToRecover = 12;

/** Runs faults of a plan, one after the other, each in the middle of work, and judges what came of it. */
export function hurting(plan: Plan): Scenario {
  return async ({ calls: wanted, keys, services, tell }) => {
    const count = Math.min(wanted, plan.mostCalls ?? wanted);
    const calls = new Calls(count, Math.min(keys, plan.mostKeys ?? keys), { plainEvery: plan.plainEvery ?? 0 });
    const given = plan.own === true ? {} : services;
    // However few or many the calls, each fault must meet work under way.
    const seconds = 10 + plan.faults.reduce((total, { holdMs }) => total + holdMs / 1_000 + secondsToRecover, 0);
    const perSecond = Math.ceil(count / seconds);
    return World.around({ services: given, perSecond, latencyMs: 50, ...plan.world }, async (world) => {
      await world.worker(plan.world?.proxied === true ? 'far' : 'near');
      for (let more = 1; more < (plan.workers ?? 2); more++) await world.worker();
      // First they share the partitions: calls whose partition is moving just now would suffer two faults at once.
      await untilShared(world);
      await world.produce(calls, tell);
      const startedMs = Date.now();
      const played: Played[] = [];
      const share = Math.ceil(count / 20);
      let inMidRun = 0;
      let effects = 0;
      for (const fault of plan.faults) {
        await untilShared(world);
        // On a slow machine the backlog may end before the faults do.
        if (calls.count - effects < 4 * share) {
          calls.grow(4 * share);
          await world.produce(calls, tell);
        }
        const enough = effects + share;
        await until('some more are done', async () => (effects = await world.sandbox.effects()) >= enough, {
          progress: () => effects,
          everyMs: 20,
        });
        tell(`${fault.name}, after ${effects} effects`);
        if (effects < calls.count) inMidRun++;
        played.push(await play(world, fault));
        effects = await world.sandbox.effects();
      }
      await untilAllCommitted(world, tell);
      const tookSeconds = Math.round((Date.now() - startedMs) / 1_000);
      const verdict = await judge(world, calls, plan.mayDiffer);
      const more = (await plan.more?.(world, verdict)) ?? [];
      const bars = [...verdict.bars, ...more, ...recovery(played), atLeast('faultsInMidRun', inMidRun, played.length)];
      return reportOf(plan.name, bars, { ...verdict.figures, ...playedFigures(played), seconds: tookSeconds });
    });
  };
}

/** Waits until all workers have partitions: a fault at one of them must hurt. */
async function untilShared(world: World): Promise<void> {
  await until('the workers share the partitions', async () => {
    const held = await Promise.all(world.running.map((one) => one.metric('larkspur_kafka_assigned_partitions')));
    return held.every(([count = 0]) => count > 0);
  });
}
