import { type Bar, type Report, reportOf } from '../../../src/runtime/report.ts';
import type { BenchOptions } from '../main.ts';

import { foreignRound, outageRound, type Round, steadyRound } from './rounds.ts';

const usualCalls = 3_000;
const minute = { hurtAtMs: 5_000, hurtForMs: 60_000 };
const killed = { hurtAtMs: 10_000, hurtForMs: 60_000 };

const parts: Readonly<Record<string, (calls: number) => Promise<Round>>> = {
  sliding: (calls) => steadyRound('sliding', calls),
  fixed: (calls) => steadyRound('fixed', calls),
  foreign: (calls) => foreignRound(calls, minute),
  outage: (calls) => outageRound(calls, killed),
};

/**
 * Three workers, one quota of 50 a second and 1,000 a minute in a real Redis, the sandbox as witness: with sliding and with
 * fixed windows, with somebody else taking 40 % for a minute, and with Redis killed for a minute. Takes ten minutes; a part
 * can be named. The bars of `sliding` have the plain names.
 */
export async function quotaReport({ calls: given, parts: wanted = [], tell }: BenchOptions): Promise<Report> {
  const calls = given > 0 ? given : usualCalls;
  const bars: Bar[] = [];
  const figures: Record<string, unknown> = { calls };
  for (const [name, part] of Object.entries(parts)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const round = await part(calls);
    bars.push(...round.bars.map((bar) => (name === 'sliding' ? bar : { ...bar, name: `${name}.${bar.name}` })));
    figures[name] = round.figures;
    tell(`${name}: ${JSON.stringify(round)}`);
  }
  return reportOf('quota', bars, figures);
}
