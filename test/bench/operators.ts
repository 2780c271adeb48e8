import { fileURLToPath, pathToFileURL } from 'node:url';

import { Bench } from 'tinybench';
import { build } from 'vite';

import { atMost, type Report, reportOf } from '../../src/runtime/report.ts';

import type { BenchOptions } from './main.ts';
import type * as operatorStages from './operator-stages.ts';

/** What one operation costs, and what it may cost on a comparable core. */
interface Cost {
  readonly name: string;
  readonly nsPerItem: number;
  readonly budgetNs?: number;
}

const perRound = 200_000;

/**
 * The stages as they run in production. tsx names every closure when it is made (about 1 us each), which would hide what is
 * measured here; so they are built first.
 */
async function builtStages(): Promise<operatorStages.Stage[]> {
  const entry = fileURLToPath(new URL('operator-stages.ts', import.meta.url));
  // Inside node_modules, so that the libraries are found from there.
  const outDir = fileURLToPath(new URL('../../node_modules/.cache/larkspur-bench', import.meta.url));
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const options = { ssr: entry, outDir, emptyOutDir: true, minify: false, target: 'node20' } as const;
  await build({ root, configFile: false, logLevel: 'error', build: options });
  const built = (await import(pathToFileURL(`${outDir}/operator-stages.js`).href)) as typeof operatorStages;
  return built.stages();
}

/**
 * Measures the hot operations of the operators, median over the rounds. Counts the processor time of this process, not the
 * time on the wall, so that a busy machine changes little.
 */
async function operatorsBench(): Promise<Cost[]> {
  const all = await builtStages();
  const bench = new Bench({
    time: 300,
    iterations: 21,
    warmup: true,
    now: () => process.cpuUsage().user / 1_000,
    retainSamples: true,
  });
  for (const { name, run, items = perRound } of all) bench.add(name, () => run(items));
  await bench.run();
  return all.map(({ name, budgetNs, items = perRound }) => {
    const result = bench.getTask(name)?.result;
    if (result?.state !== 'completed') throw new Error(`${name} did not complete: ${result?.state ?? 'no result'}`);
    const nsPerItem = (result.latency.p50 * 1e6) / items;
    return budgetNs === undefined ? { name, nsPerItem } : { name, nsPerItem, budgetNs };
  });
}

/** The costs as a table for people. */
function costTable(costs: readonly Cost[]): string {
  const rows = costs.map(({ name, nsPerItem, budgetNs }) => {
    const verdict = budgetNs === undefined ? '' : nsPerItem <= budgetNs ? 'ok' : 'OVER';
    const budget = budgetNs === undefined ? '' : `${budgetNs} ns`;
    return `${name.padEnd(40)}${`${nsPerItem.toFixed(1)} ns`.padStart(14)}${budget.padStart(12)}  ${verdict}`;
  });
  return [`${'operation'.padEnd(40)}${'median'.padStart(14)}${'budget'.padStart(12)}`, ...rows].join('\n');
}

/** The costs against their budgets, in nanoseconds of processor time per item. */
export async function operatorsReport({ tell }: BenchOptions): Promise<Report> {
  const costs = await operatorsBench();
  tell(costTable(costs));
  const bars = costs.flatMap(({ name, nsPerItem, budgetNs }) =>
    budgetNs === undefined ? [] : [atMost(name, Math.round(nsPerItem * 10) / 10, budgetNs)],
  );
  const figures = Object.fromEntries(costs.map(({ name, nsPerItem }) => [name, Math.round(nsPerItem * 10) / 10]));
  return reportOf('operators', bars, figures);
}
