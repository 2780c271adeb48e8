import { toArray } from 'rxjs';

import type { InRecord } from '../../src/model/record.ts';
import { serve, type Served } from '../../src/runtime/serve.ts';
import { type EventTarget, seal } from '../../src/sandbox/events/seal.ts';
import type { Sandbox } from '../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';

import { ConfigFiles } from './config-file.ts';
import { only } from './only.ts';
import { seededRandom } from './virtual-time.ts';

/** A whole process, worker and ingress, with routes, beside a sandbox without limits. Who opens one closes it. */
export interface EventHouse {
  readonly sandbox: Sandbox;
  readonly served: Served;
  readonly target: EventTarget;
  readonly records: (topic: string) => Promise<InRecord[]>;
  /** Delivers a body, sealed, to the door for events; resolves with the status. */
  readonly deliver: (body: unknown) => Promise<number>;
  close(): Promise<void>;
}

/** @param routes YAML below `routes:` @param app and @param feishu further YAML members of app and upstream @param more further YAML */
export async function openEventHouse(
  routes: string,
  app: (sandboxUrl: string) => string = () => '',
  more = '',
  feishu = '',
): Promise<EventHouse> {
  const sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
  const files = new ConfigFiles();
  const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: s, encryptKey: key${app(sandbox.url)} }]
upstreams: { feishu: { baseUrl: '${sandbox.url}'${feishu} } }
routes:
${routes}
${more}`);
  files.remove();
  const served = await serve(config, [], { worker: true, ingress: true });
  const target = { urls: [served.ingressUrl ?? ''], app: 'cli_a', encryptKey: 'key' };
  return {
    ...{ sandbox, served, target },
    records: (topic) => only(served.stores.tail(topic, 100_000).pipe(toArray())),
    deliver: async (body) => {
      const request = seal(target, body, Date.now(), seededRandom(1));
      return (await fetch(`${served.ingressUrl}/feishu/cli_a/events`, { method: 'POST', ...request })).status;
    },
    close: async () => {
      await served.stop();
      await sandbox.close();
    },
  };
}
