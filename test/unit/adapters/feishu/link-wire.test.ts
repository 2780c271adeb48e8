import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, expect, it } from 'vitest';

import { linkWire } from '../../../../src/adapters/feishu/link/link-wire.ts';

let server: Server | undefined;
afterEach(() => server?.close());

async function ask(answer: string, status = 200) {
  let asked = '';
  server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => (asked += chunk.toString()));
    request.on('end', () => response.writeHead(status, { 'content-type': 'application/json' }).end(answer));
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const wire = linkWire(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { id: 'cli_a', secret: 's3' });
  const endpoint = await wire.endpoint();
  await wire.close();
  return { endpoint, asked };
}

const there = (url: unknown, config: unknown = {}) =>
  JSON.stringify({ code: 0, data: { URL: url, ClientConfig: config } });

it('asks with id and secret, and reads where to connect and how to keep it, seconds there', async () => {
  const { endpoint, asked } = await ask(there('ws://x/y?service_id=1', { PingInterval: 90, ReconnectNonce: 5 }));
  expect(JSON.parse(asked)).toEqual({ AppID: 'cli_a', AppSecret: 's3' });
  expect(endpoint).toEqual({
    ...{ kind: 'there', url: 'ws://x/y?service_id=1' },
    timing: { pingMs: 90_000, spreadMs: 5_000 },
  });
});

it.each([
  ['a refusal', JSON.stringify({ code: 1_000_040_350, msg: 'too many' }), 1_000_040_350],
  ['no JSON', '<html>', undefined],
  ['no object', '[]', undefined],
  ['no address', there(7), 0],
  ['an address of another kind', there('https://x/y'), 0],
  ['an address that is none', there('ws://'), 0],
  ['an address that no socket takes', there('ws://x/#y'), 0],
])('%s is no address, and no error', async (_, answer, code) => {
  expect((await ask(answer)).endpoint).toMatchObject({ kind: 'refused', code });
});

it('keeps its own times where the platform’s make no sense', async () => {
  const { endpoint } = await ask(there('ws://x', { PingInterval: 0, ReconnectInterval: -1, ReconnectNonce: 1e9 }));
  expect(endpoint).toEqual({ kind: 'there', url: 'ws://x', timing: {} });
});
