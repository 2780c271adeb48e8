import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { toArray } from 'rxjs';
import { expect, vi } from 'vitest';

import type { InRecord } from '../../src/model/record.ts';
import { serve, type Served } from '../../src/runtime/serve.ts';
import type { Sandbox } from '../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';

import { ConfigFiles } from './config-file.ts';
import { only } from './only.ts';
import { type CollectedSpan, openCollector, type OtlpCollector } from './otlp-collector.ts';

const root = join(import.meta.dirname, '../..');
export const patience = { timeout: 30_000, interval: 20 };

/** What was opened and has to be closed, the last one first. */
export const toClose: (() => unknown)[] = [];

/** Closes it. */
export async function closeAll(): Promise<void> {
  for (const close of toClose.splice(0).reverse()) await close();
}

/** The API that is called, and a call of it. */
export const api = 'POST /open-apis/im/v1/messages';
export const call = {
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: 'oc_1', msg_type: 'text', content: '{"text":"hi"}' },
};

/** Who gets the spans, who is called, and the configuration that names both. */
export interface Around {
  readonly collector: OtlpCollector;
  readonly sandbox: Sandbox;
  readonly config: string;
  /** Spans of one trace, once those of that name are there. */
  readonly trace: (name: string) => Promise<CollectedSpan[]>;
}

/** Opens them; `closeAll` closes them. @param more of the configuration */
export async function openAround(more = ''): Promise<Around> {
  const collector = await openCollector();
  const sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
  toClose.push(
    () => collector.close(),
    () => sandbox.close(),
  );
  const config = `
data: memory
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: sandbox, encryptKey: key }]
upstreams: { feishu: { baseUrl: '${sandbox.url}' } }
tracing: { endpoint: '${collector.url}', sampleRatio: 1 }
worker: { outcomeLines: { successShare: 1 } }
${more}`;
  return {
    ...{ collector, sandbox, config },
    trace: async (name) => {
      await vi.waitFor(() => expect(collector.spans.map((span) => span.name)).toContain(name), patience);
      const { traceId } = collector.spans.findLast((span) => span.name === name)!;
      return collector.spans.filter((span) => span.traceId === traceId);
    },
  };
}

/** The same with all roles in this process. */
export async function openTracedHouse(more = '') {
  const around = await openAround(`logLevel: silent${more}`);
  const files = new ConfigFiles();
  const { config } = files.load(around.config);
  files.remove();
  const served: Served = await serve(config, [], { worker: true, ingress: true });
  toClose.push(() => served.stop());
  return {
    ...around,
    served,
    records: (topic: string): Promise<InRecord[]> => only(served.stores.tail(topic, 1_000).pipe(toArray())),
  };
}

/** The program in a process of its own, whose log can be read. */
export async function startProgram(config: string) {
  const files = new ConfigFiles();
  const args = ['--import', 'tsx', 'src/cli/main.ts', 'up', '--config', files.write(config)];
  const child = spawn(process.execPath, args, { cwd: root, env: { PATH: process.env['PATH'] } });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (log += chunk.toString()));
  toClose.push(() => {
    child.kill('SIGKILL');
    files.remove();
  });
  await vi.waitFor(() => expect(log).toMatch(/metrics +GET/), patience);
  return {
    log: () => log,
    ingressUrl: /calls +POST (\S+)\/v1/.exec(log)?.[1] ?? '',
    adminUrl: /metrics +GET +(\S+)\/metrics/.exec(log)?.[1] ?? '',
  };
}
