import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { open } from 'lmdb';
import { firstValueFrom } from 'rxjs';
import { afterAll, describe, expect, it, vi } from 'vitest';

import { MemoryQuotaLog } from '../../../src/adapters/embedded/quota-log.ts';
import { memoryAnswerCache } from '../../../src/adapters/system/answer-cache.ts';
import { createDestinations } from '../../../src/runtime/destinations.ts';
import { type Roles, serve } from '../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { httpAsk } from '../../support/http-ask.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../support/virtual-time.ts';

const soon = { timeout: 30_000, interval: 20 };
vi.setConfig({ testTimeout: 60_000 });

const files = new ConfigFiles();
afterAll(() => files.remove());

/** A server that answers nothing until it is told to. */
async function hangingServer() {
  const held: ServerResponse[] = [];
  const server = createServer((_request, response) => void held.push(response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return { held, url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** A process whose only upstream hangs. @param more lines of its configuration */
async function servedSlowly(roles: Roles, more = '') {
  const { held, url, close } = await hangingServer();
  const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams: { slow: { baseUrl: '${url}', timeouts: { attemptMs: 20000, totalMs: 30000 } } }
${more}
`);
  return { served: await serve(config, [], roles), held, close };
}

describe('a process that stops', () => {
  it('ends its redrives while its worker drains, and begins no other', async () => {
    const { served, held, close } = await servedSlowly({ worker: true, ingress: false });
    const admin = Number(new URL(served.adminUrl).port);
    const append = (value: string): void => {
      served.stores.sink.append({ topic: 'calls', key: null, value: Buffer.from(value), headers: [] }).subscribe();
    };
    const order = (run: string) =>
      httpAsk(admin, '/admin/redrives', { method: 'POST', body: JSON.stringify({ run, rate: '1', who: 'ana' }) });
    const states = async () =>
      ((await httpAsk(admin, '/admin/redrives')).json() as { runs: { run: string; state: string }[] }).runs.map(
        ({ run, state }) => `${run} ${state}`,
      );
    for (let i = 0; i < 50; i++) append('no call');
    await vi.waitFor(() => expect(served.worker?.worker.settled).toBe(50), soon);
    append(JSON.stringify({ upstream: 'slow', path: '/' }));
    await vi.waitFor(() => expect(held).toHaveLength(1), soon);
    expect((await order('r1')).status).toBeLessThan(300);
    expect(await states()).toEqual(['r1 running']);

    const stopping = served.stop();
    await vi.waitFor(async () => expect(await states()).toEqual(['r1 stopped']), { timeout: 5_000, interval: 20 });
    expect((await order('r2')).text).toContain('this process is stopping');
    expect(await states()).toEqual(['r1 stopped']);
    for (const response of held) response.end('{}');
    expect(await stopping).toBe('drained');
    close();
  });

  it('tells clients that still wait when its worker has stopped that their calls go on, and does not sit out their waits', async () => {
    const { served, held, close } = await servedSlowly({ worker: true, ingress: true }, 'drainMs: 200');
    const body = JSON.stringify({ upstream: 'slow', path: '/' });
    const ingress = Number(new URL(served.ingressUrl ?? '').port);
    const answer = httpAsk(ingress, '/v1/calls?wait=30s', { method: 'POST', body });
    await vi.waitFor(() => expect(held).toHaveLength(1), soon);

    expect(await served.stop()).toBe('aborted');
    expect(await answer).toMatchObject({ status: 504, text: expect.stringContaining('the call goes on') as string });
    close();
  }, 20_000);

  it('gives clients that wait the answers that came while it drained', async () => {
    const { served, held, close } = await servedSlowly({ worker: true, ingress: true });
    const ingress = Number(new URL(served.ingressUrl ?? '').port);
    const calls = Array.from({ length: 20 }, (_, index) => JSON.stringify({ upstream: 'slow', path: `/${index}` }));
    const answers = calls.map((body) => httpAsk(ingress, '/v1/calls?wait=30s', { method: 'POST', body }));
    await vi.waitFor(() => expect(held).toHaveLength(calls.length), soon);
    const stopping = served.stop();
    // By then they look for their results five times a second at most.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    for (const response of held) response.end('{}');

    expect(await stopping).toBe('drained');
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(calls.map(() => 200));
    close();
  });

  it('does so with the error when another process has taken its data folder, and closes all the same', async () => {
    const data = mkdtempSync(join(tmpdir(), 'larkspur-taken-'));
    const { config } = files.load(`
data: ${data}
logLevel: silent
drainMs: 200
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
`);
    const served = await serve(config, [], { worker: true, ingress: false });
    const env = open<Buffer, Buffer>({ path: join(data, 'db'), encoding: 'binary', keyEncoding: 'binary' });
    await env.put(Buffer.from('owner'), Buffer.from(JSON.stringify({ pid: 1, where: 'elsewhere', renewedMs: 0 })));

    expect(await served.failed).toMatchObject({ code: 'data_folder_locked' });
    await expect(served.stop()).rejects.toMatchObject({ code: 'data_folder_locked' });
    await expect(fetch(served.adminUrl)).rejects.toThrow('fetch failed');
    await env.close();
    rmSync(data, { recursive: true });
  });

  it('gives questions for tokens ten seconds from the beginning of its drain, not from its end', async () => {
    const { held, url, close } = await hangingServer();
    const { config } = files.load(`
data: memory
apps: [{ id: cli_a1, secret: s }]
upstreams: { feishu: { baseUrl: '${url}' } }
`);
    const time = new VirtualTime();
    const destinations = createDestinations(config, {
      ...{ clock: time, timers: time, random: seededRandom(1), metrics: noMetrics, log: noLogger },
      ...{ quota: new MemoryQuotaLog(time), answers: () => memoryAnswerCache(time), own: new Map() },
    });
    const feishu = destinations.byName.get('feishu')!;
    feishu.tokens!.get({ app: 'cli_a1', tenant: undefined, as: 'tenant' }).subscribe();
    await vi.waitFor(() => expect(held).toHaveLength(1), soon);
    let tellStopped = (): void => undefined;
    let isClosed = false;
    const closing = destinations
      .closeAfter(new Promise<void>((resolve) => (tellStopped = resolve)))
      .then(() => (isClosed = true));
    const request = { method: 'GET', path: '/', headers: {}, body: undefined } as const;
    const refused = async () => firstValueFrom(feishu.upstream.send(request, 1_000));

    time.advance(10_000);
    tellStopped();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await refused()).toMatchObject({ kind: 'failed', failure: 'aborted' });
    expect(isClosed).toBe(false);
    for (const response of held) response.end('{}');
    await closing;
    close();
  });
});
