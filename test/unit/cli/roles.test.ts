import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';

import { startLarkspur } from '../../support/command-line.ts';

vi.setConfig({ testTimeout: 60_000 });
const folder = mkdtempSync(join(tmpdir(), 'larkspur-roles-'));
afterAll(() => rmSync(folder, { recursive: true }));
const soon = { timeout: 30_000, interval: 50 };

/** A server that answers nothing until it is told to. */
async function hangingServer() {
  const held: ServerResponse[] = [];
  const server = createServer((_request, response) => void held.push(response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { held, port, url: `http://127.0.0.1:${port}` };
}

/** A command that stays, and what it says. */
function started(...args: string[]) {
  const child = startLarkspur(...args);
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()));
  const ended = once(child, 'exit').then(([code, signal]) => ({ code: code as unknown, signal: signal as unknown }));
  return { child, said, ended };
}

describe('larkspur up', () => {
  it('ends with 1 when a port is taken, also with a sandbox that listens already', async () => {
    const { port } = await hangingServer();
    const place = ['--data', 'memory', '--ingress', '127.0.0.1:0', '--admin', `127.0.0.1:${port}`];
    const { said, ended } = started('up', '--with-sandbox', ...place);

    expect(await ended).toEqual({ code: 1, signal: null });
    expect(said.err).toMatch(/^the Feishu sandbox listens on .+\nerror: admin cannot listen on .+\ncure: .+\n$/);
  });

  it('drains to its end although nobody reads what it says any more, and although its file is to be read anew', async () => {
    const { held, url } = await hangingServer();
    const file = join(folder, 'slow.yaml');
    writeFileSync(
      file,
      `data: memory
logLevel: info
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams: { slow: { baseUrl: '${url}', timeouts: { attemptMs: 20000, totalMs: 30000 } } }
`,
    );
    const { child, said, ended } = started('up', '--config', file);
    await vi.waitFor(() => expect(said.out).toMatch(/POST +http:\S+\/v1\/calls/), soon);
    const [, ingress = ''] = /POST +(http:\S+)\/v1\/calls/.exec(said.out) ?? [];
    const headers = { authorization: 'Bearer hunter2hunter2' };
    const body = JSON.stringify({ upstream: 'slow', path: '/' });
    const taken = await fetch(`${ingress}/v1/calls`, { method: 'POST', headers, body });
    expect(taken.status).toBe(202);
    await vi.waitFor(() => expect(held).toHaveLength(1), soon);

    child.stderr.destroy();
    // Another process acts on a signal when it comes to it, and has nowhere left to say so.
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      child.kill(signal);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
    for (const response of held) response.end('{}');
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(said.out).toContain('stopped: everything under way has ended');
  });
});

describe('--version', () => {
  it.each([[['--version']], [['up', '--version']], [['chaos', 'run', '--version']]])(
    'is answered wherever it stands: %j',
    async (args) => {
      const { said, ended } = started(...args);
      expect(await ended).toEqual({ code: 0, signal: null });
      expect(said.out).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
    },
  );
});
