import { arch, cpus, loadavg, platform, totalmem } from 'node:os';

/** One measured value and the bound it must keep. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly pass: boolean;
}

/** The machine that a report was made on. */
interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryMiB: number;
  readonly platform: string;
  readonly node: string;
  /** Processes that wanted a core on average over the last minute. */
  readonly load1m: number;
}

/** What a demo, bench, simulation or chaos run found. */
export interface Report {
  readonly scenario: string;
  /** Whether every bar passes. */
  readonly pass: boolean;
  readonly bars: readonly Bar[];
  /** What is worth knowing and has no bound. Names carry units. */
  readonly figures: Readonly<Record<string, unknown>>;
  readonly machine: Machine;
}

/** A bar that passes at `most` or below. NaN never passes. */
export function atMost(name: string, value: number, most: number): Bar {
  return { name, value, atMost: most, pass: value <= most };
}

/** A bar that passes at `least` or above. NaN never passes. */
export function atLeast(name: string, value: number, least: number): Bar {
  return { name, value, atLeast: least, pass: value >= least };
}

/** Puts a report together. Without a single bar nothing was shown, so it does not pass. */
export function reportOf(scenario: string, bars: readonly Bar[], figures: Report['figures']): Report {
  const pass = bars.length > 0 && bars.every((bar) => bar.pass);
  return { scenario, pass, bars, figures, machine: machine() };
}

/** The machine at this moment. */
export function machine(): Machine {
  const cores = cpus();
  return {
    cpu: cores[0]?.model.trim() ?? 'unknown',
    cores: cores.length,
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    platform: `${platform()} ${arch()}`,
    node: process.version,
    load1m: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}

/** The bars as lines for people, the verdict last. */
function reportLines({ scenario, pass, bars }: Report): string[] {
  const longest = Math.max(...bars.map(({ name }) => name.length), 0);
  const lines = bars.map(({ name, value, atLeast: least, atMost: most, pass: holds }) => {
    const bound = most === undefined ? `at least ${least ?? '?'}` : `at most ${most}`;
    return `  ${holds ? '✔' : '✘'} ${name.padEnd(longest)}  ${value}  (${bound})`;
  });
  return [...lines, `${scenario}: ${pass ? 'pass' : 'FAIL'}`];
}

/**
 * Prints a report through `write`, one line a call: as one JSON object, or as lines for people.
 * @returns the exit code of the command: 0 only if every bar passes
 */
export function printReport(report: Report, json: boolean, write: (line: string) => void): 0 | 1 {
  for (const line of json ? [JSON.stringify(report)] : reportLines(report)) write(line);
  return report.pass ? 0 : 1;
}
