import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import type { Command } from 'commander';

import { configInvalid } from '../config/mistake.ts';
import { readScenario, type Scenario } from '../config/scenario.ts';
import { LarkspurError } from '../model/errors.ts';
import { drill } from '../runtime/chaos/drill.ts';
import { defaultLedger, readRuns, reportOfRuns } from '../runtime/chaos/ledger.ts';
import { readSchedule } from '../runtime/chaos/schedule-file.ts';
import { runSchedule } from '../runtime/chaos/scheduler.ts';
import { reportOf } from '../runtime/report.ts';
import { stderrLogger } from '../runtime/stderr-logger.ts';
import { untilStopped } from '../runtime/until-stopped.ts';

import { reportLines, runLines } from './chaos-text.ts';
import { chaosTools } from './chaos-tools.ts';
import { type ConfigOptions, loadFrom, withConfigOptions, withUrls } from './config-options.ts';
import { note, print, printJson } from './output.ts';
import { whoAsks } from './who.ts';

interface RunOptions extends ConfigOptions {
  readonly url: readonly string[];
  readonly seed?: string;
  readonly force?: boolean;
  readonly ledger: string;
  readonly json?: boolean;
}

/** `larkspur chaos run|report|proxy|record`, and `--schedule`. */
export function chaosCommand(command: Command): void {
  running(command)
    .option('--schedule <file>', 'run the scenarios of a schedule at their times, until it is stopped')
    .action(runScheduled);
  const run = command.command('run').description('play a scenario: exit code 0 only if its hypothesis held');
  running(run)
    .argument('<file>', 'scenario in YAML')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nWith target sandbox nothing real is touched. With target workers the faults go through PUT /admin/faults, which needs' +
        '\nchaos.injectFaults: true there; they end by themselves if this command dies.',
    )
    .action(runFile);
  const report = command.command('report').description('what all runs found');
  withLedger(report)
    .option('--days <n>', 'of the last days alone')
    .option('--json', 'print one JSON object')
    .action(showReport);
  chaosTools(command);
  command.hook('preSubcommand', (_, subcommand) => {
    const set = command.options.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
    if (set.length === 0) return;
    throw new LarkspurError('bad_request', `${set.map(({ long }) => long).join(', ')} would not count here`, {
      cure: `options stand behind the command that they are for: larkspur chaos ${subcommand.name()} ...`,
    });
  });
}

function running(command: Command): Command {
  return withUrls(withLedger(withConfigOptions(command)), 'admin port of a worker, for target workers')
    .option('--seed <n>', 'of what chance decides (default: random, printed)')
    .option('--force', 'run it although the health score is low or the error budget empty');
}

function withLedger(command: Command): Command {
  return command.option('--ledger <file>', 'where runs are kept, a line each', defaultLedger);
}

async function runFile(file: string, options: RunOptions): Promise<void> {
  const scenario = scenarioIn(file);
  const { json = false } = options;
  const seed = seedOf(options);
  note(`${scenario.name}: target ${scenario.target}, seed ${seed}`);
  let told = -Infinity;
  const run = await drill(scenario, {
    ...drillOptions(options),
    ...{ seed, stop: untilStopped() },
    tell: (elapsedMs, { answeredShare = NaN, faults = 0 }) => {
      if (json || elapsedMs - told < 2_000) return;
      told = elapsedMs;
      const answered = Number.isNaN(answeredShare) ? '-' : `${Math.round(answeredShare * 100)} %`;
      note(`  ${Math.round(elapsedMs / 1_000)} s  ${faults} faults  answered ${answered}`);
    },
  });
  const { verdict, bars, figures, why, findings } = run;
  if (json) {
    const about = { verdict, why, seed, ...figures, findings };
    printJson({ ...reportOf(scenario.name, bars, about), pass: verdict === 'confirmed' });
  } else for (const line of runLines(run)) print(line);
  if (verdict === 'refused') note('cure: wait until it is well again, or run it anyhow with --force');
  // What stands by for Ctrl-C would hold the process.
  process.exit(verdict === 'confirmed' ? 0 : 1);
}

async function runScheduled(options: RunOptions & { readonly schedule?: string }, command: Command): Promise<void> {
  const { schedule: file } = options;
  if (file === undefined) {
    command.help({ error: true });
    return;
  }
  const schedule = readSchedule(textOf(file, 'name a schedule file'), file);
  const seed = seedOf(options);
  const base = drillOptions(options);
  note(`${file}: ${schedule.runs.length} entries, seed ${seed}`);
  // Every file is looked at now: a mistake should not wait for the night.
  const folder = dirname(file);
  for (const one of schedule.runs.flatMap(({ scenarios }) => scenarios)) scenarioIn(resolve(folder, one));
  const stop = untilStopped();
  const end = runSchedule(schedule, {
    seed,
    log: stderrLogger('info', []),
    run: async (path, runSeed) => {
      const run = await drill(scenarioIn(resolve(folder, path)), { ...base, seed: runSeed, stop });
      for (const line of runLines(run)) print(line);
    },
  });
  await stop;
  end();
}

function drillOptions(options: RunOptions) {
  const { url: urls, force = false, ledger } = options;
  const { config } = loadFrom(options);
  return { config, urls, force, ledger, by: whoAsks() };
}

function seedOf({ seed }: RunOptions): number {
  return wholeNumber('seed', seed) ?? 1 + Math.floor(Math.random() * 1_000_000);
}

async function showReport(options: { ledger: string; days?: string; json?: boolean }): Promise<void> {
  const days = wholeNumber('days', options.days);
  const from = days === undefined ? '' : new Date(Date.now() - days * 86_400_000).toISOString();
  const report = reportOfRuns((await readRuns(options.ledger)).filter(({ startedAt }) => startedAt >= from));
  if (options.json === true) printJson(report);
  else for (const line of reportLines(report)) print(line);
}

/** @throws LarkspurError `config_invalid` with every mistake and its place */
function scenarioIn(file: string): Scenario {
  return readScenario(textOf(file, 'name a scenario file'), file);
}

function textOf(file: string, cure: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw configInvalid([`${file} cannot be read`], file, cure);
  }
}

function wholeNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new LarkspurError('bad_request', `--${option} must be a whole number`);
  return Number(text);
}
