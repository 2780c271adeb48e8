import type { Report } from '../report.ts';

import type { Figures } from './figures.ts';
import { duration, number } from './progress-lines.ts';

const faultNames: Readonly<Record<string, string>> = { hang: 'hangs', 'reset-after': 'resets after the write' };
const labelWidth = 16;

/** The closing table. */
export function summaryLines(figures: Figures): string[] {
  const { durationMs, callsPerSecond, attempts, retries, refusals, replays, quota, callMs, attemptMs } = figures;
  const firsts = attempts - retries - refusals;
  const faults = Object.entries(figures.faults).map(([kind, times]) => `${times} ${faultNames[kind] ?? `x ${kind}`}`);
  const rows: readonly (readonly [string, string])[] = [
    ['results', counts(figures.results)],
    ['dead letters', counts(figures.deadLetters)],
    ['attempts', `${number(attempts)}: ${number(firsts)} first ones, ${retries} retries, ${refusals} refused by quota`],
    ['replayed', `${replays} repeats that the platform knew by their key and did not act on again`],
    [
      'time per call',
      `p50 ${duration(callMs.p50)}, p99 ${duration(callMs.p99)} (all came at once: most of it is queueing)`,
    ],
    ['per attempt', `p50 ${duration(attemptMs.p50)}, p99 ${duration(attemptMs.p99)}`],
    [
      'quota',
      `at most ${quota.perChat} (of 5) a second came to one chat, ${quota.perApi} (of 50) to one API; ` +
        `${quota.overrun} came too close together and were refused`,
    ],
    ['faults met', faults.join(', ') || 'none'],
    ['duration', `${duration(durationMs)}, ${callsPerSecond} calls a second`],
  ];
  return rows.map(([label, text]) => `${label.padEnd(labelWidth)}${text}`);
}

/** What the ledger and the topics say, for people. */
export function verdictLines({ pass, bars }: Report, { calls, writes, effects }: Figures): string[] {
  const words: Readonly<Record<string, string>> = {
    lost: 'lost',
    twice: 'done twice',
    outOfOrder: 'out of order',
  };
  return [
    ...bars.map(({ name, value, pass: holds }) => `${holds ? '✔' : '✘'} ${number(value)} ${words[name] ?? name}`),
    '',
    ...(pass
      ? [
          `PASS: ${number(calls)} calls, one terminal record each; their ${number(writes)} writes stand in the`,
          "sandbox's own ledger once each, in order",
        ]
      : [`FAIL: what was asked, the topics and the sandbox's ledger (${number(effects)} effects) do not agree`]),
  ];
}

function counts(by: Readonly<Record<string, number>>): string {
  const entries = Object.entries(by);
  return entries.length === 0 ? '0' : entries.map(([what, count]) => `${number(count)} ${what}`).join(', ');
}
