import { cpus, totalmem } from 'node:os';

/** One thing that must hold: a count, a share or a ratio. Plain times are figures. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly atMost?: number;
  readonly atLeast?: number;
  readonly pass: boolean;
}

/** What a scenario found. */
export interface Report {
  readonly scenario: string;
  readonly pass: boolean;
  readonly bars: readonly Bar[];
  readonly figures: Readonly<Record<string, unknown>>;
  readonly machine: { readonly cores: number; readonly memoryMb: number; readonly node: string };
}

export const atMost = (name: string, value: number, limit: number): Bar => ({
  name,
  value,
  atMost: limit,
  pass: value <= limit,
});

export const atLeast = (name: string, value: number, limit: number): Bar => ({
  name,
  value,
  atLeast: limit,
  pass: value >= limit,
});

/** A report passes when all of its bars do, and there is one. */
export function reportOf(scenario: string, bars: readonly Bar[], figures: Report['figures']): Report {
  return {
    scenario,
    pass: bars.length > 0 && bars.every(({ pass }) => pass),
    bars,
    figures,
    machine: { cores: cpus().length, memoryMb: Math.round(totalmem() / 2 ** 20), node: process.version },
  };
}

/** The report for a person. */
export function asText({ scenario, pass, bars, figures }: Report): string {
  const lines = bars.map(({ name, value, atMost: most, atLeast: least, pass: holds }) => {
    const limit = most === undefined ? `at least ${String(least)}` : `at most ${most}`;
    return `  ${holds ? 'ok  ' : 'FAIL'} ${name.padEnd(22)} ${String(value).padStart(9)}  (${limit})`;
  });
  const rest = Object.entries(figures).map(([name, value]) => `       ${name.padEnd(22)} ${JSON.stringify(value)}`);
  return [`${scenario}: ${pass ? 'pass' : 'FAIL'}`, ...lines, ...rest].join('\n');
}
