import type { Command } from 'commander';

import { urlOf } from '../model/http.ts';
import { sendCall } from '../runtime/call.ts';

import { type ConfigOptions, loadFrom, withConfigOptions } from './config-options.ts';
import { print, printJson } from './output.ts';

type Options = ConfigOptions & {
  readonly url?: string;
  readonly key?: string;
  readonly wait: string;
  readonly json?: boolean;
};

/** `larkspur call JSON`. */
export function callCommand(command: Command): void {
  withConfigOptions(command)
    .argument('<call>', 'the call as JSON, or - to read it from standard input')
    .option('--url <url>', 'address of an ingress (default: the configured one)')
    .option('--key <key>', 'record key: calls with one key go in order')
    .option('--wait <duration>', 'how long to wait for the answer, e.g. 500ms, 3s', '30s')
    .option('--json', 'print the result as one JSON object')
    .action(run);
}

async function run(text: string, { url, key, wait, json, ...options }: Options): Promise<void> {
  const { config } = loadFrom(options);
  const body = text === '-' ? await standardInput() : text;
  const address = { url: url ?? urlOf(config.listen.ingress), token: config.adminToken };
  const { status, answer } = await sendCall(address, { body, key, wait });
  if (json === true) printJson(answer);
  else print(JSON.stringify(answer, undefined, 2));
  if (status !== 200) process.exitCode = 1;
}

async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString('utf8');
}
