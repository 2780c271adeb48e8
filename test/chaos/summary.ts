import { atMost, type Report, reportOf } from '../../src/runtime/report.ts';

import { type Played, playedFigures, recovery } from './world/play.ts';

/** One report over those of all scenarios: what went wrong in any of them, and how long recovery took on average. */
export function summaryOf(reports: readonly Report[]): Report {
  const worst = (name: string) => {
    const values = reports.flatMap(({ bars }) => bars.filter((bar) => bar.name.split('.').at(-1) === name));
    return atMost(name, Math.max(...values.map(({ value }) => value)), 0);
  };
  const played = reports.flatMap(({ figures }) => (figures['faults'] ?? []) as Played[]);
  const failed = reports.filter(({ pass }) => !pass).map(({ scenario }) => scenario);
  const bars = [
    worst('lost'),
    worst('twice'),
    worst('outOfOrder'),
    atMost('scenariosFailed', failed.length, 0),
    ...recovery(played),
  ];
  const { meanDetectSeconds } = playedFigures(played);
  return reportOf('all', bars, { scenarios: reports.length, failed, faultsPlayed: played.length, meanDetectSeconds });
}
