import { atMost, type Bar } from '../../../src/runtime/report.ts';

import type { Calls } from './calls.ts';
import { sum } from './group.ts';
import { type Outcomes, readOutcomes } from './outcomes.ts';
import { valuesOf } from './processes.ts';
import { until } from './until.ts';
import type { World } from './world.ts';

/** What every scenario is held to. */
export interface Verdict {
  readonly outcomes: Outcomes;
  readonly bars: readonly Bar[];
  readonly figures: Readonly<Record<string, unknown>> & { readonly sentAgain: number };
}

/** Waits until the group has committed everything. */
export async function untilAllCommitted(world: World, tell: (text: string) => void): Promise<void> {
  let lag = Infinity;
  let effects = 0;
  await until(
    'everything is committed',
    async () => {
      try {
        lag = sum(await world.group.lag());
        effects = await world.sandbox.effects();
        tell(`${effects} effects, ${lag} records not committed`);
      } catch {
        // The broker may be away just now: that is the scenario.
      }
      return lag === 0;
    },
    { progress: () => `${lag} records behind, ${effects} effects`, everyMs: 500 },
  );
}

/**
 * Compares the input, the terminal records and the ledger. Copies of one record are allowed and counted; two records of one
 * call that differ are not, unless `mayDiffer`: a worker that could not reach the claims, or found them lost, may have made
 * a call again under its platform key. Calls without such a key may not differ even then.
 */
export async function judge(world: World, calls: Calls, mayDiffer = false): Promise<Verdict> {
  const [outcomes, ledger, lag, stats, replayed] = await Promise.all([
    readOutcomes(world.kafka, world.prefix, calls),
    world.sandbox.verdict(calls.count),
    world.group.lag(),
    world.sandbox.stats(),
    replayedBy(world),
  ]);
  const { reportedUnknown } = outcomes;
  const bars = [
    atMost('lost', outcomes.lost, 0),
    atMost('twice', ledger.twice, 0),
    atMost('outOfOrder', ledger.outOfOrder, 0),
    atMost('contradicted', mayDiffer ? outcomes.contradicted + outcomes.differingPlain : outcomes.differing, 0),
    atMost('deadLetters', outcomes.deadLetters - reportedUnknown, 0),
    atMost('withoutEffect', Math.max(0, ledger.missing - reportedUnknown), 0),
    atMost('lag', sum(lag), 0),
    atMost('workersEndedByThemselves', world.endedByThemselves.length, 0),
  ];
  const errors = world.errors();
  const suspicious = {
    ...(ledger.twice + ledger.outOfOrder > 0 ? { violations: await world.sandbox.violations() } : {}),
    ...(outcomes.lost > 0 ? { missing: outcomes.missing(5) } : {}),
    ...(errors.length > 0 ? { errors: errors.slice(0, 5) } : {}),
  };
  const figures = {
    calls: calls.count,
    effects: ledger.effects,
    /** Fetched again and not acted on again, by the workers that run at the end. */
    replayed,
    /** Sent again, and known again by the platform's key: no second effect. */
    sentAgain: stats.replays,
    reportedUnknown,
    outcomes: outcomes.byKind,
    repeatedRecords: outcomes.repeatedRecords,
    differingCopies: outcomes.differing,
    foreignRecords: outcomes.foreign,
    errorLines: errors.length,
    ...suspicious,
  };
  return { outcomes, bars, figures };
}

/** Records that were fetched again and not acted on again: known from the commit's metadata, or from the claim. */
async function replayedBy(world: World): Promise<{ fromCommit: number; fromClaim: number }> {
  const scrapes = await Promise.all(world.running.map((worker) => worker.scrape()));
  const count = (name: string, labels = ''): number => sum(scrapes.flatMap((scrape) => valuesOf(scrape, name, labels)));
  return {
    fromCommit: count('larkspur_records_known_total'),
    fromClaim: count('larkspur_records_ended_total', 'ending="stored-'),
  };
}
