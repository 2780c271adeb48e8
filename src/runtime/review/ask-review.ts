import { systemClock, systemRandom, systemTimers } from '../../adapters/system/clock.ts';
import type { Config } from '../../config/config.ts';
import type { AuditEntry } from '../../model/audit.ts';
import { isoTime } from '../../model/time.ts';
import type { Logger } from '../../ports/logger.ts';
import { noMetrics } from '../../ports/metrics.ts';
import { askEach } from '../admin-client.ts';
import { readRuns } from '../chaos/ledger.ts';
import { oneValue } from '../one-value.ts';
import { openUnlessHeld } from '../open-unless-held.ts';
import type { NamedSlo } from '../stability/slos.ts';

import { auditEntries } from './audit-entries.ts';
import type { Happening } from './chronicle.ts';
import { incidentMarkdown } from './incident.ts';
import { weekReport, type WeekReport } from './week.ts';

const dayMs = 86_400_000;

/** Where a report looks. */
export interface ReviewPlaces {
  readonly config: Config;
  readonly log: Logger;
  /** Admin ports of workers; empty: the configured one. */
  readonly urls: readonly string[];
}

/** The three facts of the last days. Workers that do not answer are left out. @param ledger file with the runs of chaos */
export async function askWeek(places: ReviewPlaces, days: number, ledger: string): Promise<WeekReport> {
  const wallMs = systemClock.wall();
  const [from, to] = [isoTime(wallMs - days * dayMs), isoTime(wallMs)];
  const [slos, entries, runs] = await Promise.all([
    fromAll<{ readonly slos: readonly NamedSlo[] }>(places, '/admin/slo', {}),
    entriesBetween(places, from, to),
    readRuns(ledger),
  ]);
  return weekReport({ from, to, slos: slos.flatMap((answer) => answer.slos), runs, entries });
}

/** The timeline of a time as Markdown. */
export async function askIncident(places: ReviewPlaces, from: string, to: string): Promise<string> {
  const query = { from, to };
  const [seen, entries] = await Promise.all([
    fromAll<{ readonly happenings: readonly Happening[] }>(places, '/admin/happenings', query),
    entriesBetween(places, from, to),
  ]);
  const happenings = seen.flatMap((answer) => answer.happenings);
  return incidentMarkdown(from, to, happenings, entries);
}

/** Those that answer. A worker that refuses has said why, and that is told. */
async function fromAll<T>(
  { config, urls }: ReviewPlaces,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<readonly T[]> {
  const { answers, refusal } = await askEach<T>(config, urls, { path, query });
  if (refusal !== undefined) throw refusal;
  return answers;
}

/** Out of a worker, or with nobody there out of the stores. */
async function entriesBetween(places: ReviewPlaces, from: string, to: string): Promise<readonly AuditEntry[]> {
  const answers = await fromAll<{ readonly entries: readonly AuditEntry[] }>(places, '/admin/audit', { from, to });
  const [first] = answers;
  if (first !== undefined) return first.entries;
  const world = { clock: systemClock, timers: systemTimers, random: systemRandom, log: places.log, metrics: noMetrics };
  const stores = openUnlessHeld(places.config, world);
  if (stores === undefined) return [];
  try {
    return await oneValue(auditEntries(stores.reader, from, to));
  } finally {
    await stores.close();
  }
}
