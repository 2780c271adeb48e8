import type { Command } from 'commander';

import { secretsOf } from '../config/describe.ts';
import { LarkspurError } from '../model/errors.ts';
import { openFaultProxy } from '../runtime/chaos/proxy.ts';
import { recordIncident } from '../runtime/chaos/record.ts';
import { stderrLogger } from '../runtime/stderr-logger.ts';
import { untilStopped } from '../runtime/until-stopped.ts';

import { type ConfigOptions, loadFrom, withConfigOptions } from './config-options.ts';
import { print, printJson } from './output.ts';

/** `larkspur chaos proxy|record`. */
export function chaosTools(command: Command): void {
  const proxy = command
    .command('proxy')
    .description('an HTTP proxy that lets requests of any client fail, by host and path');
  proxy
    .requiredOption('--rules <file>', 'fault rules in JSON or YAML, followed while it runs')
    .option('--port <port>', 'port on this machine, 0 for a free one', '8888')
    .option(
      '--origin <host=url>',
      'send requests for a host elsewhere, as open.feishu.cn=http://127.0.0.1:8090; several times for several',
      (origin: string, before: readonly string[]) => [...before, origin],
      [],
    )
    .option('--cert <file>', 'PEM certificate that the client trusts: TLS to the hosts it is for is opened')
    .option('--key <file>', 'PEM key of the certificate')
    .option('--json', 'print the address as a JSON object')
    .addHelpText(
      'after',
      '\nName it to the client as HTTP_PROXY and HTTPS_PROXY, or let a host name lead here. What no rule is for goes on untouched;' +
        '\nso does https to hosts that --cert is not for.',
    )
    .action(runProxy);
  const record = command.command('record').description('make a scenario file out of what failed between two times');
  withConfigOptions(record)
    .argument('<from>', 'ISO 8601')
    .argument('<to>', 'ISO 8601')
    .option('--name <name>', 'name of the scenario (default: made from the time)')
    .option('--last <n>', 'newest results and dead letters to look through', '100000')
    .option('--url <url>', 'admin port of the process that holds the data folder; 1,000 records at most then')
    .addHelpText('after', '\nThe file goes to standard output; larkspur chaos run plays it.')
    .action(runRecord);
}

async function runProxy(options: {
  rules: string;
  port: string;
  origin: readonly string[];
  cert?: string;
  key?: string;
  json?: boolean;
}): Promise<void> {
  const port = Number(options.port);
  if (!/^\d{1,5}$/.test(options.port) || port > 65_535)
    throw new LarkspurError('bad_request', '--port must be 0 to 65535');
  const proxy = await openFaultProxy({
    ...{ port, rules: options.rules, origins: options.origin, log: stderrLogger('info', []) },
    ...{ certFile: options.cert, keyFile: options.key },
  });
  if (options.json === true) printJson({ url: proxy.url });
  else print(`the fault proxy listens on ${proxy.url}; stop it with Ctrl-C`);
  await untilStopped();
  await proxy.close();
}

type RecordOptions = ConfigOptions & { readonly name?: string; readonly last: string; readonly url?: string };

async function runRecord(from: string, to: string, { name, last, url, ...options }: RecordOptions): Promise<void> {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  if (Number.isNaN(fromMs) || Number.isNaN(toMs) || toMs <= fromMs) {
    throw new LarkspurError('bad_request', 'FROM and TO must be times, TO after FROM, as 2026-11-30T14:30:00Z');
  }
  if (!/^[1-9]\d{0,8}$/.test(last)) throw new LarkspurError('bad_request', '--last must be a whole number above 0');
  const loaded = loadFrom(options);
  const log = stderrLogger(options.logLevel === undefined ? 'error' : loaded.config.logLevel, secretsOf(loaded));
  const named = name ?? `incident-${new Date(fromMs).toISOString().slice(0, 16).replace(/[-:T]/g, '')}`;
  print(
    (await recordIncident(loaded, log, { name: named, span: { fromMs, toMs }, last: Number(last), url })).trimEnd(),
  );
}
