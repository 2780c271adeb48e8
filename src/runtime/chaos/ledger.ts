import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import { jsonOrText } from '../../model/json-levels.ts';
import { isTree } from '../../model/schema-words.ts';
import type { Bar } from '../report.ts';

import type { Figures } from './figures.ts';

/** How a run ended: all bars held, one did not, it was cut short, it never began. */
export type RunVerdict = 'confirmed' | 'refuted' | 'aborted' | 'refused';

/** One run of a scenario, as the ledger keeps it. */
export interface ChaosRun {
  readonly id: string;
  readonly scenario: string;
  readonly hypothesis: string;
  readonly target: 'sandbox' | 'workers';
  readonly startedAt: string;
  readonly durationMs: number;
  readonly by: string;
  readonly seed: number;
  /** Whether the guard was overruled. */
  readonly forced: boolean;
  readonly verdict: RunVerdict;
  /** Why it was refused or aborted. */
  readonly why?: string;
  readonly bars: readonly Bar[];
  readonly figures: Figures;
  /** What somebody should look into. */
  readonly findings: readonly string[];
}

/** Where runs are kept unless another file is named. */
export const defaultLedger = '.larkspur/chaos.jsonl';

/** Makes the file with its folder if it is not there. Rejects when nothing could be added to it. */
export async function openLedger(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await appendFile(file, '');
}

/** Adds a run to the file, on a line of its own also where a crash cut off the one before. */
export async function addRun(file: string, run: ChaosRun): Promise<void> {
  await appendFile(file, `\n${JSON.stringify(run)}\n`);
}

/** Every run of the file, oldest first; none where there is no file. A line that is no run, as one that a crash cut off, is passed over. */
export async function readRuns(file: string): Promise<ChaosRun[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  return text
    .split('\n')
    .map((line) => jsonOrText(line))
    .filter(isRun);
}

function isRun(value: unknown): value is ChaosRun {
  if (!isTree(value)) return false;
  const { bars, findings } = value;
  const texts = ['id', 'scenario', 'startedAt', 'target', 'verdict'].map((name) => value[name]);
  return texts.every((text) => typeof text === 'string') && Array.isArray(bars) && Array.isArray(findings);
}

/** What many runs together tell. */
export interface RunsReport {
  readonly runs: readonly Pick<ChaosRun, 'id' | 'startedAt' | 'scenario' | 'target' | 'verdict' | 'why' | 'forced'>[];
  readonly findings: readonly { readonly run: string; readonly scenario: string; readonly finding: string }[];
  /** Per bar: in how many runs it was looked at, and in how many it did not hold. */
  readonly invariants: readonly { readonly name: string; readonly runs: number; readonly broken: number }[];
}

/** Sums up runs, newest first. */
export function reportOfRuns(runs: readonly ChaosRun[]): RunsReport {
  const newest = [...runs].reverse();
  const invariants = new Map<string, { runs: number; broken: number }>();
  for (const { bars } of runs) {
    // A figure with two bounds is one invariant.
    for (const name of new Set(bars.map((bar) => bar.name))) {
      const known = invariants.get(name) ?? { runs: 0, broken: 0 };
      const holds = bars.every((bar) => bar.name !== name || bar.pass);
      invariants.set(name, { runs: known.runs + 1, broken: known.broken + (holds ? 0 : 1) });
    }
  }
  return {
    runs: newest.map(({ id, startedAt, scenario, target, verdict, why, forced }) => ({
      ...{ id, startedAt, scenario, target, verdict, forced },
      ...(why === undefined ? {} : { why }),
    })),
    findings: newest.flatMap(({ id, scenario, findings }) =>
      findings.map((finding) => ({ run: id, scenario, finding })),
    ),
    invariants: [...invariants].map(([name, counts]) => ({ name, ...counts })).sort((a, b) => b.broken - a.broken),
  };
}
