import { type Command, InvalidArgumentError, Option } from 'commander';

import { secretsOf } from '../config/describe.ts';
import { isDateTime } from '../model/date-time.ts';
import { LarkspurError } from '../model/errors.ts';
import { isoTime } from '../model/time.ts';
import { defaultLedger } from '../runtime/chaos/ledger.ts';
import { askIncident, askWeek } from '../runtime/review/ask-review.ts';
import { weekLines } from '../runtime/review/week.ts';
import { stderrLogger } from '../runtime/stderr-logger.ts';

import { type ConfigOptions, loadFrom, withConfigOptions, withUrls } from './config-options.ts';
import { print, printJson } from './output.ts';

interface Options extends ConfigOptions {
  readonly days: number;
  readonly from?: string;
  readonly to?: string;
  readonly url: readonly string[];
  readonly ledger: string;
  readonly json?: boolean;
}

/** `larkspur report`. */
export function reportCommand(command: Command): void {
  withUrls(withConfigOptions(command))
    .option('--days <n>', 'over how many days, 1 to 365', daysOf, 7)
    .addOption(
      new Option('--from <time>', 'instead: the timeline of an incident, as Markdown, from this time on')
        .argParser(timeOf)
        .conflicts(['days', 'ledger']),
    )
    .option('--to <time>', 'until then (default: now)', timeOf)
    .option('--ledger <file>', 'runs of `larkspur chaos`', defaultLedger)
    .option('--json', 'print JSON')
    .action(run);
}

async function run({ days, from, to, url, ledger, json, ...options }: Options): Promise<void> {
  if (from === undefined && to !== undefined) {
    throw new LarkspurError('bad_request', '--to needs --from', { cure: 'name the beginning of the incident, too' });
  }
  if (from !== undefined && to !== undefined && to <= from) {
    throw new LarkspurError('bad_request', `--to ${to} is not after --from ${from}`, {
      cure: 'name the earlier time first',
    });
  }
  const loaded = loadFrom(options);
  const log = stderrLogger(options.logLevel === undefined ? 'error' : loaded.config.logLevel, secretsOf(loaded));
  const places = { config: loaded.config, log, urls: url };
  if (from !== undefined) {
    const markdown = await askIncident(places, from, to ?? isoTime(Date.now()));
    if (json === true) printJson({ markdown });
    else print(markdown);
    return;
  }
  const week = await askWeek(places, days, ledger);
  if (json === true) printJson(week);
  else for (const line of weekLines(week)) print(line);
}

function daysOf(text: string): number {
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= 365) return days;
  throw new InvalidArgumentError('must be a whole number from 1 to 365.');
}

function timeOf(text: string): string {
  if (isDateTime(text)) return isoTime(Date.parse(text));
  throw new InvalidArgumentError('must be a point in time as in 2026-01-31T12:00:00Z.');
}
