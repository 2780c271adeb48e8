// The real pipeline in simulated worlds, one per seed, with everything going wrong that can: npm run simulate -- --seeds 1000
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

import { atMost, printReport, reportOf } from '../../src/runtime/report.ts';

import { describePlan } from './describe.ts';
import { planOf } from './make-plan.ts';
import { mutants } from './mutants/all.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';
import { addTo, emptyTally, type Tally } from './tally.ts';

const usage = `npm run simulate -- [options]
  --seeds N       worlds to run (1000)
  --from S        first seed (0)
  --seed S        one world only; prints what happened in it
  --mutant NAME   put a bug in on purpose: one whose name holds these words
  --json          print one object and no progress
A failing seed is made as small as it gets and printed; the same seed always gives the same run.`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string' },
    mutant: { type: 'string' },
    json: { type: 'boolean', default: false },
    // One of the processes that share the work: prints a tally per line.
    part: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const seeds = Number(values.seeds);
const from = Number(values.seed ?? values.from);
const mutant = values.mutant === undefined ? undefined : mutants.find(({ name }) => name.includes(values.mutant ?? ''));
const unknownMutant = values.mutant !== undefined && mutant === undefined;
if (values.help || unknownMutant || !Number.isInteger(from) || from < 0 || !Number.isInteger(seeds) || seeds < 1) {
  const names = unknownMutant ? `\nmutants:\n${mutants.map(({ name }) => `  ${name}`).join('\n')}` : '';
  process.stderr.write(`${usage}${names}\n`);
  process.exit(values.help ? 0 : 2);
}
const print = (line: string): void => void process.stdout.write(`${line}\n`);

if (values.part) runPart();
else if (values.seed !== undefined) process.exit(runOne(from));
else process.exit(await runAll());

/** One world, from beginning to end. */
function runOne(seed: number): 0 | 1 {
  const plan = planOf(seed);
  const outcome = simulate(plan, { mutant, keepLines: true });
  const tally = emptyTally();
  addTo(tally, outcome);
  if (!values.json) {
    for (const line of describePlan(plan)) print(line);
    for (const line of outcome.lines ?? []) print(line);
  }
  return report(tally, { hash: outcome.hash }, outcome.violation === undefined ? [] : [seed]);
}

/** Many worlds, shared among as many processes as there are cores. */
async function runAll(): Promise<0 | 1> {
  const startedMs = Date.now();
  const parts = Math.min(availableParallelism(), Math.ceil(seeds / 100));
  const share = Math.ceil(seeds / parts);
  const tallies = await Promise.all(
    Array.from({ length: parts }, (_, part) =>
      runApart(from + part * share, Math.min(share, seeds - part * share), parts),
    ),
  );
  const total = emptyTally();
  for (const tally of tallies) addAll(total, tally);
  const seconds = (Date.now() - startedMs) / 1_000;
  const figures = { seconds: Math.round(seconds * 10) / 10, seedsPerSecond: Math.round(total.worlds / seconds) };
  return report(
    total,
    figures,
    total.failing.toSorted((a, b) => a - b),
  );
}

function report(tally: Tally, figures: Readonly<Record<string, unknown>>, failing: readonly number[]): 0 | 1 {
  const { worlds, calls, attempts, effects, events, broken } = tally;
  const [first] = failing;
  if (first !== undefined && !values.json) tellOf(first);
  const otherwise = ['G5', 'G6', 'G7', 'G8', 'G9'].reduce((sum, name) => sum + (broken[name] ?? 0), 0);
  const bars = [
    atMost('lost', broken['G1'] ?? 0, 0),
    atMost('twice', broken['G2'] ?? 0, 0),
    atMost('outOfOrder', broken['G3'] ?? 0, 0),
    atMost('overQuota', broken['G4'] ?? 0, 0),
    atMost('otherwise', otherwise, 0),
  ];
  const all = { worlds, calls, attempts, effects, events, ...figures, failing: failing.slice(0, 20) };
  if (!values.json) for (const [name, value] of Object.entries(all)) print(`    ${name} ${JSON.stringify(value)}`);
  return printReport(reportOf('simulate', bars, all), values.json, print);
}

/** Makes a failing world as small as it gets, and tells what happens in it. */
function tellOf(seed: number): void {
  const { plan, runs } = shrink(planOf(seed), mutant);
  const { violation, lines = [], hash } = simulate(plan, { mutant, keepLines: true });
  print(`seed ${seed}, made smaller in ${runs} runs (trace ${hash}):`);
  for (const line of describePlan(plan)) print(line);
  for (const line of lines) print(line);
  print(`${violation?.guarantee ?? ''} is broken: ${violation?.what ?? ''}`);
  print(`all of it: npm run simulate -- --seed ${seed}${mutant === undefined ? '' : ` --mutant '${mutant.name}'`}`);
}

function runPart(): void {
  const tally = emptyTally();
  for (let seed = from; seed < from + seeds; seed++) {
    addTo(tally, simulate(planOf(seed), { mutant }));
    if (tally.worlds % 200 === 0) print(JSON.stringify(tally));
  }
  print(JSON.stringify(tally));
}

/** Runs a share in a process of its own. */
async function runApart(first: number, count: number, parts: number): Promise<Tally> {
  const args = ['--part', '--from', String(first), '--seeds', String(count)];
  if (mutant !== undefined) args.push('--mutant', mutant.name);
  const child = spawn(process.execPath, [...process.execArgv, import.meta.filename, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
  let tally = emptyTally();
  for await (const line of createInterface(child.stdout)) {
    tally = JSON.parse(line) as Tally;
    if (!values.json && parts > 0 && tally.worlds % 1_000 === 0)
      process.stderr.write(`  from ${first}: ${tally.worlds} worlds, ${tally.failing.length} failing\n`);
  }
  const code = await ended;
  if (code !== 0) throw new Error(`seeds from ${first}: the process ended with code ${code}`);
  return tally;
}

function addAll(total: Tally, tally: Tally): void {
  for (const name of ['worlds', 'calls', 'attempts', 'effects', 'events'] as const) total[name] += tally[name];
  for (const [guarantee, count] of Object.entries(tally.broken))
    total.broken[guarantee] = (total.broken[guarantee] ?? 0) + count;
  total.failing.push(...tally.failing);
}
