import { type Command, InvalidArgumentError } from 'commander';

import { createSandbox } from '../runtime/sandbox.ts';
import { untilStopped } from '../runtime/until-stopped.ts';

import { print, printJson } from './output.ts';

interface Options {
  readonly host: string;
  readonly port: number;
  readonly faults?: string;
  readonly seed: number;
  readonly json?: boolean;
}

/** `larkspur sandbox`. */
export function sandboxCommand(command: Command): void {
  command
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on, 0 for a free one', portOf, 8090)
    .option('--faults <file>', 'JSON or YAML file with fault rules, read again when it changes')
    .option('--seed <n>', 'seed of faults and ids', wholeNumber, 1)
    .option('--json', 'print the address as a JSON object')
    .addHelpText(
      'after',
      '\nPUT /_sandbox/faults changes faults while it runs; GET /_sandbox/effects shows what happened.',
    )
    .action(run);
}

async function run({ host, port, faults, seed, json }: Options): Promise<void> {
  const sandbox = await createSandbox({ host, port, seed, ...(faults === undefined ? {} : { faultsFile: faults }) });
  if (json === true) printJson({ url: sandbox.url });
  else print(`the Feishu sandbox listens on ${sandbox.url}; stop it with Ctrl-C`);
  await untilStopped();
  await sandbox.close();
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('must be a whole number.');
  return Number(text);
}

function portOf(text: string): number {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError('must be 0 to 65535.');
  return port;
}
