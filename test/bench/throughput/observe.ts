import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { atLeast, type Report, reportOf } from '../../../src/runtime/report.ts';
import type { BenchOptions } from '../main.ts';

import type { Finished } from './child.ts';
import { cpuMs, describeRun, figuresOf, median, rate, rounded } from './figures.ts';
import { type Place, runRound, withChild } from './round.ts';
import { withPlace } from './throughput.ts';
import type { Watched } from './watched.ts';

/** Everything on costs at most a tenth of the rate. Traces of all calls are for looking closely at a few, and have no bar. */
const leastKept = 0.9;
const withoutBar = 'traces100';
const inFlight = 256;

/**
 * What it costs to be watched: the same worker under the same load with nothing on, with metrics that are read each second,
 * with a line per record in a file beside them, and with traces of 1 % and of all calls beside both; taking turns round by round.
 * Ratios of medians.
 */
export async function observeReport(options: BenchOptions): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'larkspur-observe-'));
  try {
    return await withPlace((place) =>
      withChild<{ port: number }, Report>(join(place.built, 'collector.js'), {}, ({ port }) =>
        takeTurns(place, ways(`http://127.0.0.1:${port}`, join(folder, 'lines.log')), options),
      ),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function ways(url: string, linesTo: string): ReadonlyMap<string, Watched> {
  const traced = (sampleRatio: number): Watched => ({ metrics: true, linesTo, traces: { url, sampleRatio } });
  return new Map<string, Watched>([
    ['off', { metrics: false }],
    ['metrics', { metrics: true }],
    ['lines', { metrics: true, linesTo }],
    ['traces1', traced(0.01)],
    ['traces100', traced(1)],
  ]);
}

async function takeTurns(
  place: Place,
  all: ReadonlyMap<string, Watched>,
  { rounds, calls, parts = [], tell }: BenchOptions,
): Promise<Report> {
  const unknown = parts.filter((part) => !all.has(part));
  if (unknown.length > 0) throw new Error(`observe has ${[...all.keys()].join(', ')}; got ${unknown.join(' ')}`);
  const chosen = [...all].filter(([name]) => parts.length === 0 || name === 'off' || parts.includes(name));
  const shape = { who: 'larkspur', delayMs: 0, calls: calls > 0 ? calls : 100_000, inFlight } as const;
  const runs = new Map<string, Finished[]>(chosen.map(([name]) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const [name, watched] of chosen) {
      const run = await runRound(place, { ...shape, watched });
      runs.get(name)?.push(run);
      tell(`round ${round}, ${name}: ${describeRun(run)}`);
      if (watched.linesTo !== undefined) rmSync(watched.linesTo, { force: true });
    }
  }
  const off = runs.get('off') ?? [];
  const watched = [...runs].filter(([name]) => name !== 'off');
  const kept = watched.map(
    ([name, ran]) => [`rateKept.${name}`, rounded(median(ran, rate) / median(off, rate))] as const,
  );
  const barred = kept.filter(([name]) => !name.endsWith(withoutBar));
  return reportOf(
    'observe',
    barred.map(([name, share]) => atLeast(name, share, leastKept)),
    {
      ...{ rounds, ...shape },
      ...Object.fromEntries([...runs].map(([name, ran]) => [name, figuresOf(ran)])),
      ...Object.fromEntries(kept.filter(([name]) => name.endsWith(withoutBar))),
      ...Object.fromEntries(
        watched.map(([name, ran]) => [`cpuRatio.${name}`, rounded(median(ran, cpuMs) / median(off, cpuMs))]),
      ),
    },
  );
}
