import { readFileSync } from 'node:fs';

import { type Command, InvalidArgumentError } from 'commander';

import { tryRoutes } from '../runtime/try-routes.ts';

import { type ConfigOptions, loadFrom, withConfigOptions } from './config-options.ts';
import { print, printJson } from './output.ts';

type Options = ConfigOptions & { readonly json?: boolean; readonly app?: string };

/** `larkspur routes test`. */
export function routesCommand(command: Command): void {
  withConfigOptions(command.command('test'))
    .description('show what the routes would do with an event; nothing is sent')
    .argument('<file>', 'JSON file with a body as Feishu sends it, or with a record of the topic events', textOf)
    .option('--app <id>', 'app that the event came for (default: the one in the body)')
    .option('--json', 'print one JSON object')
    .action(run);
}

async function run(text: string, { json, app, ...options }: Options): Promise<void> {
  const tried = await tryRoutes(loadFrom(options).config, text, app);
  if (json === true) {
    printJson(tried);
    return;
  }
  print(`event ${tried.event.id} of type ${tried.event.type}, key ${tried.key}`);
  if (tried.routes.length === 0) print('no route is for this type and app');
  for (const { route, outcome, message, made } of tried.routes) {
    print(`  ${route}: ${outcome}${message === undefined ? '' : `, ${message}`}`);
    for (const one of made) print(`    ${JSON.stringify(one)}`);
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new InvalidArgumentError('cannot be read.');
  }
}
