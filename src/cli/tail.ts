import { type Command, InvalidArgumentError } from 'commander';

import { coverOf, secretsOf } from '../config/describe.ts';
import { stderrLogger } from '../runtime/stderr-logger.ts';
import { tail } from '../runtime/tail.ts';
import { untilStopped } from '../runtime/until-stopped.ts';

import { type ConfigOptions, loadFrom, withConfigOptions } from './config-options.ts';
import { print } from './output.ts';
import { recordAsJson, recordAsText } from './record-text.ts';

type Options = ConfigOptions & { readonly last: number; readonly follow?: boolean; readonly json?: boolean };

/** `larkspur tail TOPIC`. */
export function tailCommand(command: Command): void {
  withConfigOptions(command)
    .argument('<topic>', 'name without the prefix: calls, results, dead-letters, events, retry.10s ...')
    .option('-n, --last <n>', 'so many of the newest records', countOf, 10)
    .option('-f, --follow', 'go on with what is appended')
    .option('--json', 'print one JSON object per record')
    .action(run);
}

async function run(topic: string, { last, follow = false, json, ...options }: Options): Promise<void> {
  const loaded = loadFrom(options);
  const logger = stderrLogger(options.logLevel === undefined ? 'error' : loaded.config.logLevel, secretsOf(loaded));
  const cover = coverOf(loaded.config);
  const asText = json === true ? recordAsJson : recordAsText;
  await tail(loaded.config, logger, { topic, last, follow, stop: untilStopped() }, (record) =>
    print(asText(record, cover)),
  );
}

function countOf(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('must be a whole number from 0 to 999999.');
  return Number(text);
}
