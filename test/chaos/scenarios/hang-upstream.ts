import { atLeast, atMost, reportOf } from '../../../src/runtime/report.ts';
import { quantile } from '../../bench/quantile.ts';
import type { Scenario, Settings } from '../scenario.ts';
import { Calls } from '../world/calls.ts';
import type { Position } from '../world/group.ts';
import { MemorySamples } from '../world/memory.ts';
import type { Outcomes } from '../world/outcomes.ts';
import { readOutcomes } from '../world/outcomes.ts';
import { playedFigures, recovery } from '../world/play.ts';
import type { WorkerProcess } from '../world/processes.ts';
import { Signs } from '../world/signs.ts';
import { until } from '../world/until.ts';
import { World } from '../world/world.ts';

const recordBytes = 500;
const doneBefore = 2_000;
const doneAfter = 20_000;

/** A large backlog, and an upstream that takes requests and answers none for minutes. */
export const hangUpstream: Scenario = async (settings) => {
  const { records, keys, hangSeconds, services, tell } = settings;
  const calls = new Calls(records, keys, { bytes: recordBytes });
  return World.around({ services, perSecond: 20_000, latencyMs: 20 }, async (world) => {
    await world.produce(calls, tell);
    const worker = await world.worker();
    const memory = new MemorySamples(worker);
    let effects = 0;
    const reached = (number: number) =>
      until(`${number} calls are done`, async () => (effects = await world.sandbox.effects()) >= number, {
        progress: () => effects,
      });
    const before = Math.min(doneBefore, Math.floor(records / 10));
    await reached(before);
    const signs = await Signs.watch(world);
    await world.sandbox.faults([{ kind: 'timeout', rate: 1 }]);
    const hang = await watchHang(worker, world, settings);
    await world.sandbox.faults([]);
    const backMs = Date.now();
    await reached(hang.effects + 1);
    const recoverMs = Date.now() - backMs;
    const played = [{ fault: 'upstream hangs', detectMs: await signs.stop(), recoverMs }];
    const target = Math.min(records, hang.effects + doneAfter);
    tell(`calls flow again; waiting for ${target}`);
    await reached(target);
    const [cpuSeconds = 0] = await worker.metric('process_cpu_seconds_total');
    const exitCode = await worker.drain();
    memory.stop();
    const [outcomes, ledger, committed] = await Promise.all([
      readOutcomes(world.kafka, world.prefix, calls),
      world.sandbox.verdict(records),
      world.group.positions(),
    ]);
    const { max, ...rest } = memory.summary;
    const errors = world.errors();
    const bars = [
      atMost('rssMb', max, 350),
      atLeast('rssSamples', rest.samples, 10),
      atMost('lost', uncovered(calls, committed, outcomes), 0),
      atMost('twice', ledger.twice, 0),
      atMost('outOfOrder', ledger.outOfOrder, 0),
      atMost('deadLetters', outcomes.deadLetters, 0),
      atMost('contradicted', outcomes.differing, 0),
      // After an orderly end every effect has its record.
      atMost('effectsWithoutRecord', Math.max(0, ledger.effects - ledger.twice - outcomes.size), 0),
      atLeast('pausedPartitions', hang.paused, 1),
      // What is held is held from the start: minutes of waiting add nothing, and the group sees nobody leave.
      atMost('rssGrowth', hang.rssGrowth, 1.1),
      atMost('joins', hang.joins, 1),
      atLeast('doneAfterHang', ledger.effects - hang.effects, Math.min(doneAfter, records - hang.effects)),
      atMost('exitCode', exitCode ?? 255, 0),
      ...recovery(played),
    ];
    return reportOf('hang', bars, {
      records,
      hangSeconds,
      rssMb: { ...rest, max },
      cpuSeconds: Math.round(cpuSeconds * 10) / 10,
      effects: ledger.effects,
      effectsInHang: hang.effects - before,
      outcomes: outcomes.byKind,
      repeatedRecords: outcomes.repeatedRecords,
      committed: committed.reduce((total, { offset }) => total + offset, 0),
      doneAboveCommitted: committed.reduce((total, { doneAbove }) => total + doneAbove.length, 0),
      ...playedFigures(played),
      errorLines: errors.length,
      ...(errors.length > 0 ? { errors: errors.slice(0, 5) } : {}),
      ...(exitCode === 0 ? {} : { lastWarnings: worker.warnings().slice(-3) }),
    });
  });
};

interface Hang {
  /** Partitions paused, at most. */
  readonly paused: number;
  /** What got through at its start. */
  readonly effects: number;
  /** Resident memory in the last third of the hang, of that in the middle third. */
  readonly rssGrowth: number;
  /** Joins of the group so far. */
  readonly joins: number;
}

/** Looks on while the upstream hangs. */
async function watchHang(worker: WorkerProcess, world: World, { hangSeconds, tell }: Settings): Promise<Hang> {
  const untilMs = Date.now() + hangSeconds * 1_000;
  const rssMb: number[] = [];
  let paused = 0;
  await until(
    'the hang is over',
    async () => {
      const now = (await worker.metric('larkspur_partition_paused')).filter((value) => value === 1).length;
      paused = Math.max(paused, now);
      rssMb.push(worker.rssMb() ?? NaN);
      tell(`upstream hangs: ${now} partitions paused, ${Math.round(rssMb.at(-1) ?? 0)} MB`);
      return Date.now() >= untilMs;
    },
    { progress: () => rssMb.length, everyMs: 500 },
  );
  const third = (n: number) => quantile(rssMb.slice((rssMb.length * n) / 3, (rssMb.length * (n + 1)) / 3), 0.5);
  const joins = (await worker.metric('larkspur_kafka_joins_total')).reduce((total, value) => total + value, 0);
  return {
    paused,
    effects: await world.sandbox.effects(),
    rssGrowth: Math.round((third(2) / third(1)) * 100) / 100,
    joins,
  };
}

/** Records that the group counts as done and that have no terminal record. */
function uncovered(calls: Calls, committed: readonly Position[], outcomes: Outcomes): number {
  let without = 0;
  for (const [partition, { offset, doneAbove }] of committed.entries()) {
    for (let at = 0; at < offset; at++) if (!outcomes.has(calls.idAt(partition, at))) without++;
    for (const at of doneAbove) if (!outcomes.has(calls.idAt(partition, at))) without++;
  }
  return without;
}
