import type { Command } from 'commander';

import { withConfigOptions } from './config-options.ts';
import { runRoles, type ServeOptions } from './serve.ts';

/** `larkspur worker`. */
export function workerCommand(command: Command): void {
  withConfigOptions(command)
    .option('--admin <host:port>', 'address of the admin port')
    .option('--profile <name>', 'run the routes of this profile alone, in a group of its own, and make no calls')
    .addHelpText(
      'after',
      '\nStart more of them to share the partitions. Exit code 0: drained, 3: calls were cut off, 1: failed.',
    )
    .action(({ profile, ...options }: ServeOptions & { readonly profile?: string }) =>
      runRoles(options, { worker: true, ingress: false, ...(profile === undefined ? {} : { profile }) }),
    );
}
