import type { Command } from 'commander';

import { withConfigOptions } from './config-options.ts';
import { runRoles, type ServeOptions } from './serve.ts';

/** `larkspur ingress`. */
export function ingressCommand(command: Command): void {
  withConfigOptions(command)
    .option('--ingress <host:port>', 'address of POST /v1/calls and GET /v1/results/{id}')
    .option('--admin <host:port>', 'address of the admin port')
    .action((options: ServeOptions) => runRoles(options, { worker: false, ingress: true }));
}
