import type { Mutant } from './mutants/mutant.ts';
import type { Plan } from './plan.ts';
import type { Violation } from './world/audit.ts';
import type { Replica } from './world/replica.ts';
import { inputTopics } from './world/topics.ts';
import { Weather } from './world/weather.ts';
import { World } from './world/world.ts';

/** What came of one run. */
export interface Outcome {
  readonly seed: number;
  readonly violation: Violation | undefined;
  /** Two runs that did the same have the same. */
  readonly hash: string;
  readonly events: number;
  readonly calls: number;
  readonly attempts: number;
  readonly effects: number;
  /** What happened, line by line, where that was asked for. */
  readonly lines: readonly string[] | undefined;
}

export interface SimulateOptions {
  readonly mutant?: Mutant | undefined;
  readonly keepLines?: boolean;
}

/** Once all is well, everything must have come to its end within this. */
const patienceMs = 6 * 3_600_000;
/** What is on its way when all has ended arrives within this; then nothing may be in use any more. */
const epilogueMs = 45_000;

/** Runs a plan to its end, or to the first broken promise. */
export function simulate(plan: Plan, { mutant, keepLines = false }: SimulateOptions = {}): Outcome {
  const world = new World(plan, mutant, keepLines);
  const broken = (): boolean => world.audit.violation !== undefined;
  world.begin();
  const lastMs = Math.max(0, ...[...plan.calls, ...plan.cancels].map(({ atMs }) => atMs));
  const quietMs = Math.max(lastMs, Weather.quietAtMs(plan.faults));
  let untilMs = 0;
  const over = (): boolean => untilMs > quietMs && world.audit.open === 0 && world.group.lag === 0;
  do {
    while (!broken() && !over() && untilMs < quietMs + patienceMs) {
      untilMs += 1_000;
      world.clock.run(untilMs, broken);
      for (const replica of world.replicas) checkBounds(replica, world);
      world.audit.checkIsolation();
    }
    if (!broken() && !over()) {
      world.audit.atRest();
      world.audit.fail('G1', `${world.group.lag} records are not committed although nothing is wrong any more`);
    }
    untilMs += epilogueMs;
    if (!broken()) world.clock.run(untilMs, broken);
    // One that was frozen may write down late that calls wait which have ended.
  } while (!broken() && !over());
  if (!broken()) for (const replica of world.replicas) checkIdle(replica, world);
  const { audit, trace } = world;
  return {
    seed: plan.seed,
    violation: audit.violation,
    hash: trace.hash,
    events: trace.events,
    calls: plan.calls.length,
    attempts: audit.attempts.count,
    effects: audit.effects,
    lines: trace.lines,
  };
}

/** G6: nothing holds more than it may. */
function checkBounds({ house, process }: Replica, { audit, plan: { sizes } }: World): void {
  const { lanes, rings, keeper } = house;
  const fail = (what: string): void => audit.fail('G6', `${process.name}: ${what}`);
  if (lanes.size + lanes.inTurn > sizes.laneItems) fail(`${lanes.size + lanes.inTurn} records in lanes`);
  if (lanes.inTurn > sizes.maxInTurn) fail(`${lanes.inTurn} turns are out`);
  if (rings.size > sizes.ringCapacity * sizes.partitions * inputTopics.length) fail(`${rings.size} records in rings`);
  if (keeper.size > sizes.laneItems + sizes.maxInTurn) fail(`${keeper.size} claims are kept`);
}

/** Nothing is in use when there is nothing to do. */
function checkIdle(replica: Replica, { audit }: World): void {
  const { house, process, openPermits } = replica;
  if (!process.alive) return;
  const { lanes, rings, keeper, overflow } = house;
  // What is left of a call that was cancelled in its ring goes when it would have been due.
  const awaited = [...rings.items()].filter(({ item }) => item.kind !== 'call' || !item.over);
  const leaks: (readonly [what: string, count: number])[] = [
    ['records in lanes', lanes.size],
    ['turns', lanes.inTurn],
    ['records in rings', awaited.length],
    ['claims', keeper.size],
    ['calls counted in lanes', overflow.stats().here],
    ['permits of breakers', openPermits()],
    ['paused partitions', [...rings.stats()].filter(({ paused }) => paused).length],
  ];
  for (const { name, slots, working, limiter } of house.destinations.values())
    leaks.push(
      [`slots of ${name}`, slots.inUse + slots.waiting],
      [`places at the door of ${name}`, working.inUse],
      [`promises of quota of ${name}`, limiter.snapshot(process.now()).promised],
    );
  for (const [what, count] of leaks)
    if (count > 0) audit.fail('G6', `${process.name} is idle and keeps ${count} ${what}`);
}
