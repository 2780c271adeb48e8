import { type Command, Option } from 'commander';
import type { Observable } from 'rxjs';

import { secretsOf } from '../config/describe.ts';
import { filterFields, type FilterWords } from '../model/dead-letters/filter.ts';
import { groupFields } from '../model/dead-letters/groups.ts';
import { isRunName, readListQuestion, readOrder } from '../model/dead-letters/question.ts';
import { LarkspurError } from '../model/errors.ts';
import type { Fault } from '../model/http.ts';
import { type CommandDesk, remoteDesk, type RunView, withDesk } from '../runtime/dead-letters/with-desk.ts';
import { oneValue } from '../runtime/one-value.ts';
import { stderrLogger } from '../runtime/stderr-logger.ts';

import { type ConfigOptions, loadFrom, withConfigOptions } from './config-options.ts';
import { detailText, listText, previewText, runText } from './dead-letters-text.ts';
import { note, print, printJson } from './output.ts';
import { whoAsks } from './who.ts';

type Options = ConfigOptions & { readonly url?: string; readonly json?: boolean };
type RedriveOptions = Options &
  FilterWords & { readonly dryRun?: boolean; readonly resume?: string; readonly undo?: string; readonly stop?: string };

const descriptions: Readonly<Record<(typeof filterFields)[number], string>> = {
  reason: 'permanent, attempts_exhausted, deadline_passed, outcome_unknown, auth_failed ...',
  class: 'class of the last outcome: permanent, retryable, auth ...',
  upstream: 'name of the upstream',
  tenant: 'tenant of the call',
  app: 'app of the call',
  key: 'key of the record',
  code: "the answer's own code, else its HTTP status",
  path: 'path of the call',
  id: 'id of the call',
};

/** `larkspur dead-letters list|show|redrive`. */
export function deadLettersCommand(command: Command): void {
  const list = command.command('list').description('count them by what they have in common, and name the newest');
  common(filtered(list))
    .option('--by <fields>', `group by, of ${groupFields.join(', ')} (default: reason,upstream,code)`)
    .option('--records <n>', 'name so many of the newest one by one, too')
    .action(runList);
  const show = command.command('show').description('everything about one: request, attempts, cause and cure');
  common(show)
    .argument('<ref>', 'PARTITION/OFFSET, or the id of its call')
    .action((ref: string, options: Options) =>
      atDesk(options, async (desk) => {
        const detail = await oneValue(desk.show(ref));
        if (options.json === true) printJson(detail);
        else print(detailText(detail));
      }),
    );
  const redrive = command.command('redrive').description('send them again: by filter, at a rate, in order per key');
  common(filtered(redrive))
    .option('--dry-run', 'only tell what would be sent')
    .option('--rate <n>', 'records a second (default: 50)')
    .option('--run <name>', 'name of the run, for --resume, --stop and --undo (default: made from the time)')
    .addOption(ofRun('--resume <name>', 'go on with a run that was stopped or killed', ['undo', 'stop']))
    .addOption(ofRun('--undo <name>', 'take back what a run has sent and no worker has begun', ['stop', 'rate']))
    .addOption(ofRun('--stop <name>', 'stop a run that another process is at, over its admin port', ['rate']))
    .addHelpText(
      'after',
      '\nThe same dead letter sent twice acts once. outcome_unknown is sent only when named by --reason or --id.' +
        '\nCtrl-C stops after what is under way; nothing is lost or sent twice by that.',
    )
    .action(runRedrive);
}

/** An option about a run that was ordered before: what it is to send stands in its order. */
function ofRun(flags: string, description: string, more: readonly string[]): Option {
  return new Option(flags, description).conflicts([...filterFields, 'from', 'to', 'dryRun', 'run', ...more]);
}

function filtered(command: Command): Command {
  for (const field of filterFields) command.option(`--${field} <values>`, descriptions[field]);
  return command.option('--from <time>', 'ended at or after').option('--to <time>', 'ended before');
}

function common(command: Command): Command {
  return withConfigOptions(command)
    .option('--url <url>', 'ask the process behind this admin port instead of the stores')
    .option('--json', 'print JSON');
}

async function runList(options: Options & FilterWords): Promise<void> {
  const { question, faults } = readListQuestion(options);
  refuse(faults);
  await atDesk(options, async (desk) => {
    const list = await oneValue(desk.list(question));
    if (options.json === true) printJson(list);
    else print(listText(list));
  });
}

async function runRedrive(options: RedriveOptions): Promise<void> {
  const { filter, perSecond, faults } = readOrder(options);
  const { dryRun, resume, undo, stop } = options;
  const run =
    resume ?? undo ?? stop ?? options['run'] ?? `redrive-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`;
  refuse(
    isRunName(run)
      ? faults
      : [...faults, { at: 'run', message: 'must be letters, digits, dots, hyphens, underscores' }],
  );
  if (stop !== undefined) {
    await oneValue(remoteDesk(loadFrom(options).config, options.url).stopRun(run));
    note(`${run} stops after what is under way`);
    return;
  }
  const who = whoAsks();
  await atDesk(options, async (desk) => {
    if (dryRun === true) {
      const preview = await oneValue(desk.preview(filter, perSecond));
      if (options.json === true) printJson(preview);
      else print(previewText(preview));
      return;
    }
    if (undo !== undefined) return follow(desk, desk.undo(run, who), options);
    const before = resume === undefined ? undefined : await oneValue(desk.ordered(run));
    const rate = before === undefined || options['rate'] !== undefined ? perSecond : before.perSecond;
    note(`run ${run}: if it is cut off, go on with --resume ${run}`);
    await follow(desk, desk.redrive({ run, filter: before?.filter ?? filter, perSecond: rate, who }), options);
  });
}

/** Shows a run as it goes. Ctrl-C stops it in order; a second one ends at once. */
async function follow(desk: CommandDesk, run$: Observable<RunView>, { json }: Options): Promise<void> {
  let last: RunView | undefined;
  const stop = (): void => {
    note('stopping after what is under way');
    if (last !== undefined) desk.stop(last.run);
  };
  process.once('SIGINT', stop);
  try {
    await run$.forEach((view) => {
      last = view;
      if (json !== true && process.stderr.isTTY) process.stderr.write(`\r${runText(view)}   `);
    });
  } finally {
    process.off('SIGINT', stop);
    if (process.stderr.isTTY && json !== true) note('');
  }
  if (last === undefined) return;
  if (json === true) printJson(last);
  else print(runText(last));
  if (last.state !== 'finished') process.exitCode = 1;
}

async function atDesk(options: Options, work: (desk: CommandDesk) => Promise<void>): Promise<void> {
  const loaded = loadFrom(options);
  const log = stderrLogger(options.logLevel === undefined ? 'error' : loaded.config.logLevel, secretsOf(loaded));
  await withDesk(loaded.config, log, options.url, work);
}

function refuse(faults: readonly Fault[]): void {
  if (faults.length === 0) return;
  const text = faults.map(({ at, message }) => `--${at} ${message}`).join('; ');
  throw new LarkspurError('bad_request', text, { cure: 'see --help' });
}
