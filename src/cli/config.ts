import type { Command } from 'commander';

import { describe } from '../config/describe.ts';
import { editorSchema } from '../config/editor-schema.ts';
import { mistakesOf } from '../config/mistake.ts';
import { askConfig } from '../runtime/ask-config.ts';

import { type ConfigOptions, loadFrom, withConfigOptions } from './config-options.ts';
import { print, printJson } from './output.ts';

type Options = ConfigOptions & { readonly json?: boolean; readonly live?: boolean; readonly url?: string };

/** `larkspur config check|show|schema`. */
export function configCommand(command: Command): void {
  withConfigOptions(command.command('check'))
    .description('list every mistake, and what is accepted but not acted on')
    .option('--json', 'print one JSON object')
    .action(check);
  withConfigOptions(command.command('show'))
    .description('show every value in force and where it came from; secrets are masked')
    .option('--live', 'as a running process has it now, with what playbooks have changed')
    .option('--url <url>', 'admin port of that process (default: the configured one)')
    .option('--json', 'print one JSON array')
    .action(show);
  command
    .command('schema')
    .description('print the JSON Schema of the file, for editors')
    .action(() => print(JSON.stringify(editorSchema(), undefined, 2)));
}

function check({ json, ...options }: Options): void {
  try {
    const { warnings, config } = loadFrom(options);
    if (json === true) printJson({ ok: true, mistakes: [], warnings });
    else print(`the configuration is good (${config.kafka === undefined ? 'embedded mode' : 'Kafka and Redis'})`);
  } catch (error) {
    const mistakes = mistakesOf(error);
    if (json !== true || mistakes.length === 0) throw error;
    printJson({ ok: false, mistakes, warnings: [] });
    process.exitCode = 1;
  }
}

async function show({ json, live, url, ...options }: Options): Promise<void> {
  const loaded = loadFrom(options);
  const asked = live === true || url !== undefined;
  const lines = asked ? await askConfig(loaded.config, url) : describe(loaded);
  if (json === true) {
    printJson(lines);
    return;
  }
  const width = Math.max(...lines.map(({ path }) => path.length));
  const values = Math.min(60, Math.max(...lines.map(({ value }) => value.length)));
  for (const { path, value, source } of lines) print(`${path.padEnd(width)}  ${value.padEnd(values)}  # ${source}`);
}
