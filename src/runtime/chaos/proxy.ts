import { readFileSync } from 'node:fs';

import { type FaultProxy, startFaultProxy } from '../../adapters/http/fault-proxy.ts';
import { systemRandom, systemTimers } from '../../adapters/system/clock.ts';
import { readFaultRules } from '../../config/fault-rules.ts';
import { configInvalid } from '../../config/mistake.ts';
import { LarkspurError, messageOf } from '../../model/errors.ts';
import { InjectedFaults } from '../../operators/fault/faulty-upstream.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Random } from '../../ports/random.ts';
import { watchRules } from '../../sandbox/faults/watch-rules.ts';

/** What the proxy is started with. */
export interface ProxyOptions {
  readonly port: number;
  /** JSON or YAML with rules, followed while it runs. */
  readonly rules: string;
  /** `HOST=URL`. */
  readonly origins: readonly string[];
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly log: Logger;
  readonly random?: Random;
}

/** Starts the fault proxy with the rules of a file. Rejects with `config_invalid` or `port_in_use`. */
export async function openFaultProxy(options: ProxyOptions): Promise<FaultProxy> {
  const { port, rules: file, certFile, keyFile, log, random = systemRandom } = options;
  const faults = new InjectedFaults(random);
  const origins = new Map(options.origins.map(originOf));
  const tls =
    certFile === undefined || keyFile === undefined ? undefined : { cert: read(certFile), key: read(keyFile) };
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new LarkspurError('config_invalid', '--cert and --key go together');
  }
  const watch = await watchRules(
    file,
    systemTimers,
    readFaultRules,
    (rules) => {
      faults.set(rules);
      log.info({ file, rules }, 'fault rules are in force');
    },
    (mistakes) => log.warn({ file, mistakes }, 'the fault rules have mistakes; those before stay'),
  );
  try {
    if (watch.mistakes.length > 0) throw configInvalid(watch.mistakes, file, 'correct the lines above');
    const proxy = await startFaultProxy({ port, faults, origins, tls, timers: systemTimers, log });
    return {
      url: proxy.url,
      close: async () => {
        watch.stop();
        await proxy.close();
      },
    };
  } catch (error) {
    watch.stop();
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE') throw error;
    throw new LarkspurError('port_in_use', `port ${port} is in use`, { cure: 'name another --port', cause: error });
  }
}

function originOf(text: string): readonly [string, string] {
  const [, host = '', url = ''] = /^([^=]+)=(https?:\/\/.+)$/.exec(text) ?? [];
  if (host !== '' && URL.canParse(url)) return [host.toLowerCase(), url];
  throw new LarkspurError('bad_request', `--origin ${text} must be HOST=URL, as open.feishu.cn=http://127.0.0.1:8090`);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new LarkspurError('config_invalid', `${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
