#!/usr/bin/env -S node --max-semi-space-size=32
import { readFileSync } from 'node:fs';

import { Command } from 'commander';

import { print, reportFailure } from './output.ts';

/** Adds options and action to a command. */
type Configure = (command: Command) => void;

// Help needs names and summaries only; the code of a command is loaded when it is the one that runs.
const commands: readonly {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Configure>;
}[] = [
  {
    name: 'up',
    summary: 'run everything in one process: embedded, or on Kafka and Redis',
    load: async () => (await import('./up.ts')).upCommand,
  },
  {
    name: 'demo',
    summary: 'see it work: 1,000 calls through a sandbox that fails on purpose, then the verdict',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  {
    name: 'worker',
    summary: 'make the calls; start more of them to go faster',
    load: async () => (await import('./worker.ts')).workerCommand,
  },
  {
    name: 'ingress',
    summary: 'take calls over HTTP',
    load: async () => (await import('./ingress.ts')).ingressCommand,
  },
  {
    name: 'call',
    summary: 'send one call and wait for its result',
    load: async () => (await import('./call.ts')).callCommand,
  },
  {
    name: 'routes',
    summary: 'test what the routes would do with an event',
    load: async () => (await import('./routes.ts')).routesCommand,
  },
  {
    name: 'topics',
    summary: 'plan, apply or check the topics on the brokers',
    load: async () => (await import('./topics.ts')).topicsCommand,
  },
  {
    name: 'tail',
    summary: 'show the last records of a topic, or follow it',
    load: async () => (await import('./tail.ts')).tailCommand,
  },
  {
    name: 'explain',
    summary: 'where a record is, what it waits for and until when, how it ended',
    load: async () => (await import('./explain.ts')).explainCommand,
  },
  {
    name: 'dead-letters',
    summary: 'list, show and send again what ended without an answer',
    load: async () => (await import('./dead-letters.ts')).deadLettersCommand,
  },
  {
    name: 'sandbox',
    summary: 'run the Feishu emulator',
    load: async () => (await import('./sandbox.ts')).sandboxCommand,
  },
  {
    name: 'chaos',
    summary: 'let things fail on purpose, and see whether what was promised holds',
    load: async () => (await import('./chaos.ts')).chaosCommand,
  },
  {
    name: 'doctor',
    summary: 'look for what will not work here, and say what to do',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  {
    name: 'report',
    summary: 'the week in three facts, or the timeline of an incident',
    load: async () => (await import('./report.ts')).reportCommand,
  },
  {
    name: 'config',
    summary: 'check or show the configuration',
    load: async () => (await import('./config.ts')).configCommand,
  },
];

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return String((JSON.parse(text) as { readonly version: unknown }).version);
}

/** Runs the command line. Sets the exit code: 0 only on success. */
async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('larkspur')
    .description('A reactive dispatcher for Feishu (Lark): makes API calls out of records on Kafka topics.')
    .version(version())
    .showSuggestionAfterError()
    .showHelpAfterError('(add --help for what there is)')
    // An option belongs to the command that it stands behind: `chaos` and `chaos run` have some of the same name.
    .enablePositionalOptions();
  const upToRest = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  // Whichever command it stands behind: it is the version of all.
  if (upToRest.includes('--version')) {
    print(version());
    return;
  }
  const words = argv.filter((word) => !word.startsWith('-'));
  const chosen = words[0] === 'help' ? words[1] : words[0];
  for (const { name, summary, load } of commands) {
    const command = program.command(name).description(summary).showHelpAfterError('(add --help for what there is)');
    if (name === chosen) (await load())(command);
  }
  await program.parseAsync([...argv], { from: 'user' });
}

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

// What nobody reads any more is lost, and no reason to end before what is under way has ended.
process.stderr.on('error', () => undefined);

try {
  await main(process.argv.slice(2));
} catch (error) {
  reportFailure(error);
  process.exitCode = 1;
}
