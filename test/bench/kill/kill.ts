import { join } from 'node:path';

import { atLeast, atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import { Calls } from '../../chaos/world/calls.ts';
import { until } from '../../chaos/world/until.ts';
import { judge, untilAllCommitted } from '../../chaos/world/verdict.ts';
import { type GivenServices, World } from '../../chaos/world/world.ts';
import { Child } from '../../support/services/child.ts';
import { startServices } from '../../support/services/services.ts';
import type { BenchOptions } from '../main.ts';

import type { ControlTask } from './control.ts';

const usualCalls = 30_000;
const latencyMs = 10;
const inFlight = 256;
const sessionTimeoutMs = 6_000;

type Options = Pick<BenchOptions, 'calls' | 'tell'>;

/** Something that works a backlog off and can be killed. */
interface Contestant {
  readonly start: (world: World) => Promise<() => Promise<void>>;
}

/**
 * A backlog of calls that each take 10 ms, 256 in flight, `kill -9` in the middle, a restart: what is lost, and what takes
 * effect twice. First a plain consumer loop written with care, then Larkspur, against the same Kafka, Redis and sandbox.
 */
export async function killReport(options: Options): Promise<Report> {
  const services = await startServices();
  const { kafka, redis } = services;
  try {
    if ('missing' in kafka || 'missing' in redis) throw new Error('the bench needs a real Kafka and Redis');
    return await killOn({ brokers: kafka.brokers, redisUrl: redis.url }, options);
  } finally {
    await services.stop();
  }
}

/** The same on services that run already. */
export async function killOn(services: GivenServices, { calls, tell }: Options): Promise<Report> {
  const count = calls > 0 ? calls : usualCalls;
  const control = await run(services, controlLoop, count, tell);
  const ours = await run(services, larkspur, count, tell);
  const bars = [
    ...ours.bars,
    atLeast('killedInMidRun', Math.min(control.leftAtKill, ours.leftAtKill), 1),
    // Only what was in flight is sent again, under its key.
    atMost('sentAgain', ours.figures.sentAgain, inFlight),
    // Else the kill has hit nobody, and shows nothing.
    atLeast('control.twice', control.twice, 1),
  ];
  const { lost, twice, outOfOrder, seconds } = control;
  return reportOf('kill', bars, {
    ...{ calls: count, latencyMs, inFlight, ...ours.figures, seconds: ours.seconds },
    control: { lost, twice, outOfOrder, seconds },
  });
}

const larkspur: Contestant = {
  start: async (world) => {
    const worker = await world.worker();
    return () => worker.kill9();
  },
};

const controlLoop: Contestant = {
  start: (world) => {
    const { brokers, upstreamUrl } = world.addresses;
    const task: ControlTask = { brokers, upstreamUrl, prefix: world.prefix, inFlight, sessionTimeoutMs };
    const file = join(import.meta.dirname, 'control.ts');
    const args = ['--import', import.meta.resolve('tsx'), file, JSON.stringify(task)];
    const child = new Child(process.execPath, args, join(world.folder, 'control.log'));
    return Promise.resolve(() => child.stop(0));
  },
};

async function run(services: GivenServices, { start }: Contestant, count: number, tell: (line: string) => void) {
  const calls = new Calls(count, 1_000);
  const options = { services, perSecond: 100_000, latencyMs, inFlight, sessionTimeoutMs };
  return World.around(options, async (world) => {
    await world.produce(calls, tell);
    const startedMs = Date.now();
    const kill = await start(world);
    let effects = 0;
    await until('half is done', async () => (effects = await world.sandbox.effects()) >= count / 2, {
      progress: () => effects,
      everyMs: 20,
    });
    await kill();
    const leftAtKill = count - (await world.sandbox.effects());
    tell(`killed with ${leftAtKill} of ${count} left`);
    const stop = await start(world);
    await untilAllCommitted(world, tell);
    const seconds = Math.round((Date.now() - startedMs) / 100) / 10;
    const { bars, figures } = await judge(world, calls);
    await stop();
    const value = (name: string): number => bars.find((bar) => bar.name === name)?.value ?? NaN;
    const seen = { lost: value('lost'), twice: value('twice'), outOfOrder: value('outOfOrder') };
    return { bars, figures, leftAtKill, seconds, ...seen };
  });
}
