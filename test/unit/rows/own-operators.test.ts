import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, expect, it, vi } from 'vitest';

import { serve } from '../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { httpAsk } from '../../support/http-ask.ts';

vi.setConfig({ testTimeout: 60_000 });
const files = new ConfigFiles();
afterAll(() => files.remove());

/** A process whose upstream fails once and is asked once, with these modules in `use`. */
async function asked(...modules: readonly string[]) {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    response.writeHead(seen.length === 1 ? 503 : 200).end('{}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams: { orders: { baseUrl: 'http://127.0.0.1:${port}', use: [${modules.map((file) => `'${file}'`).join(', ')}] } }
`);
  try {
    const served = await serve(config, [], { worker: true, ingress: true });
    const ingress = Number(new URL(served.ingressUrl ?? '').port);
    const body = JSON.stringify({ id: 'c', upstream: 'orders', path: '/x' });
    const { status } = await httpAsk(ingress, '/v1/calls?wait=20s', { method: 'POST', body });
    await served.stop();
    return { status, seen };
  } finally {
    server.close();
  }
}

it('S000-58: an operator of the owner sees every attempt and its outcome, and may add headers', async () => {
  const told: unknown[] = [];
  Object.assign(globalThis, { toldToOperator: told });
  const file = files.write(
    `export default {
      before: (attempt) => ({ 'X-Signature': 'of ' + attempt.path + ' ' + attempt.number }),
      after: (attempt, outcome) => void globalThis.toldToOperator.push({ attempt, outcome }),
    };`,
    'signs.mjs',
  );
  const { status, seen } = await asked(file);

  expect(status).toBe(200);
  expect(seen.map((headers) => headers['x-signature'])).toEqual(['of /x 1', 'of /x 2']);
  const attempt = { id: 'c', upstream: 'orders', api: 'GET orders', method: 'GET', path: '/x' };
  expect(told).toMatchObject([
    { attempt: { ...attempt, number: 1 }, outcome: { class: 'retryable', status: 503 } },
    { attempt: { ...attempt, number: 2 }, outcome: { class: 'success', status: 200 } },
  ]);
});

it('one that throws, or adds what is not its own to add, costs no call anything', async () => {
  const throws = files.write(
    "export default { before: () => { throw new Error('no'); }, after: () => { throw 1; } };",
    'throws.mjs',
  );
  const forges = files.write("export default { before: () => ({ authorization: 'x' }) };", 'forges.mjs');
  const splits = files.write("export default { before: () => ({ 'x-a': 'a\\r\\nx-b: b' }) };", 'splits.mjs');
  const { status, seen } = await asked(throws, forges, splits);

  expect(status).toBe(200);
  expect(seen.map(({ authorization, ...headers }) => [authorization, headers['x-a'], headers['x-b']])).toEqual([
    [undefined, undefined, undefined],
    [undefined, undefined, undefined],
  ]);
});

it('a module that is none is named at the start', async () => {
  const none = files.write('export default { befor: () => ({}) };', 'none.mjs');
  await expect(asked(none)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('none.mjs') as string,
  });
  await expect(asked('/nowhere/gone.mjs')).rejects.toMatchObject({ code: 'config_invalid' });
});
