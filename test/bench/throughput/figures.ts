import type { Finished } from './child.ts';

/** Calls a second. */
export const rate = ({ calls, ms }: Finished): number => (calls / ms) * 1_000;
/** Milliseconds of CPU per 1,000 calls. */
export const cpuMs = ({ calls, cpuMs: ms }: Finished): number => (ms / calls) * 1_000;
/** Largest resident set, MB. */
export const rssMb = (run: Finished): number => run.rssMb;
/** To a hundredth. */
export const rounded = (value: number): number => Math.round(value * 100) / 100;

/** The median of something over runs; of an even number the lower one. */
export function median(runs: readonly Finished[], of: (run: Finished) => number): number {
  const values = runs.map(of).sort((a, b) => a - b);
  return values[Math.floor((values.length - 1) / 2)] ?? NaN;
}

/** What is worth knowing of some runs. */
export function figuresOf(runs: readonly Finished[]) {
  return {
    perSecond: Math.round(median(runs, rate)),
    cpuMsPer1000: Math.round(median(runs, cpuMs)),
    rssMb: Math.round(median(runs, rssMb)),
  };
}

/** A run in a line. */
export function describeRun(run: Finished): string {
  return `${Math.round(rate(run))} msg/s, ${Math.round(cpuMs(run))} ms CPU per 1,000, ${Math.round(run.rssMb)} MB`;
}
