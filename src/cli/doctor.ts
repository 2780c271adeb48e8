import { styleText } from 'node:util';

import type { Command } from 'commander';

import { secretsOf } from '../config/describe.ts';
import { mistakesOf } from '../config/mistake.ts';
import { examine, type Finding } from '../runtime/doctor.ts';
import { stderrLogger } from '../runtime/stderr-logger.ts';

import { type ConfigOptions, loadFrom, withConfigOptions } from './config-options.ts';
import { print, printJson } from './output.ts';

type Options = ConfigOptions & { readonly json?: boolean };

/** `larkspur doctor`. */
export function doctorCommand(command: Command): void {
  withConfigOptions(command)
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExit code 1 when a finding is bad.')
    .action(run);
}

async function run({ json = false, ...options }: Options): Promise<void> {
  const findings = await findingsOf(options);
  const isBad = findings.some(({ state }) => state === 'bad');
  if (json) printJson({ ok: !isBad, findings });
  else for (const finding of findings) show(finding);
  if (isBad) process.exitCode = 1;
}

async function findingsOf(options: ConfigOptions): Promise<Finding[]> {
  let loaded;
  try {
    loaded = loadFrom(options);
  } catch (error) {
    const mistakes = mistakesOf(error);
    if (mistakes.length === 0) throw error;
    return mistakes.map((message) => ({ name: 'config', state: 'bad', message, cure: 'correct the configuration' }));
  }
  const logger = stderrLogger(options.logLevel === undefined ? 'silent' : loaded.config.logLevel, secretsOf(loaded));
  const config: Finding = {
    name: 'config',
    state: 'ok',
    message: loaded.config.kafka === undefined ? 'good; embedded mode' : 'good; Kafka and Redis',
  };
  return [config, ...(await examine(loaded.config, logger))];
}

const colours = { ok: 'green', warn: 'yellow', bad: 'red' } as const;

function show({ name, state, message, cure }: Finding): void {
  const mark = state.padEnd(4);
  print(`${process.stdout.isTTY ? styleText(colours[state], mark) : mark}  ${name.padEnd(16)}  ${message}`);
  if (cure !== undefined) print(`${' '.repeat(24)}cure: ${cure}`);
}
