import type { Command } from 'commander';

import { createSandbox } from '../runtime/sandbox.ts';
import { shownWithSandbox, withSandbox } from '../runtime/with-sandbox.ts';

import { withConfigOptions } from './config-options.ts';
import { note, print } from './output.ts';
import { type Prepared, runRoles, type ServeOptions } from './serve.ts';

/** `larkspur up`. */
export function upCommand(command: Command): void {
  withConfigOptions(command)
    .option('--ingress <host:port>', 'address of POST /v1/calls and GET /v1/results/{id}')
    .option('--admin <host:port>', 'address of the admin port')
    .option('--with-sandbox', 'start the Feishu emulator, too, and send the calls for feishu to it')
    .action(run);
}

async function run({
  withSandbox: sandboxed = false,
  ...options
}: ServeOptions & { withSandbox?: boolean }): Promise<void> {
  const prepare = async (): Promise<Prepared> => {
    const { url } = await createSandbox();
    note(`the Feishu sandbox listens on ${url}`);
    return { config: (config) => withSandbox(config, url), shown: (lines) => shownWithSandbox(lines, url) };
  };
  await runRoles(
    options,
    { worker: true, ingress: true },
    sandboxed ? prepare : undefined,
    ({ ingressUrl, adminUrl, stores }) => {
      print(`larkspur is up (${stores.mode === 'embedded' ? 'embedded store' : 'Kafka and Redis'})`);
      print(`  calls    POST ${ingressUrl ?? ''}/v1/calls?wait=3s`);
      print(`  results  GET  ${ingressUrl ?? ''}/v1/results/{id}`);
      print(`  metrics  GET  ${adminUrl}/metrics, /readyz, /admin/status`);
      print('  try      larkspur call \'{"path":"/open-apis/im/v1/messages","query":{"receive_id_type":"chat_id"},');
      print('           "body":{"receive_id":"oc_1","msg_type":"text","content":"{\\"text\\":\\"hi\\"}"}}\'');
    },
  );
}
