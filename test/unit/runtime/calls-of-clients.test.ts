import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { serve, type Served } from '../../../src/runtime/serve.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../support/config-file.ts';

const yaml = (sandboxUrl: string) => `
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
adminToken: token-of-the-house
clients:
  - { name: shop, token: token-of-the-shop }
  - { name: bank, token: token-of-the-bank }
apps: [{ id: cli_a1, secret: s }]
upstreams: { feishu: { profile: feishu, baseUrl: '${sandboxUrl}' } }
`;

describe('the calls of a client', () => {
  let sandbox: Sandbox;
  let served: Served;
  const ask = async (who: string, path: string, body?: object, headers?: Record<string, string>) => {
    const response = await fetch(`${served.ingressUrl}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer token-of-the-${who}`, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const send = (text: string, id?: string) => ({
    ...(id === undefined ? {} : { id }),
    path: '/open-apis/im/v1/messages',
    query: { receive_id_type: 'chat_id' },
    body: { receive_id: `oc_${text}`, msg_type: 'text', content: JSON.stringify({ text }) },
  });

  beforeAll(async () => {
    sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
    const files = new ConfigFiles();
    served = await serve(files.load(yaml(sandbox.url)).config, [], { worker: true, ingress: true });
    files.remove();
  });
  afterAll(async () => {
    await served.stop();
    await sandbox.close();
  });

  it('have ids of their own: two clients who choose the same one both get what they asked for', async () => {
    const [shop, bank] = await Promise.all(
      ['shop', 'bank'].map((who) => ask(who, '/v1/calls?wait=10s', send(`from the ${who}`, 'order-7'))),
    );

    expect([shop, bank]).toMatchObject([
      { status: 200, body: { id: 'shop/order-7', status: 'ok', source: 'live' } },
      { status: 200, body: { id: 'bank/order-7', status: 'ok', source: 'live' } },
    ]);
    expect(sandbox.effects().last.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['oc_from the shop', 'oc_from the bank']),
    );
  });

  it('are nobody else’s to read, nor to tell whether they exist: 404 is all that others hear', async () => {
    await ask('shop', '/v1/calls?wait=10s', send('secret', 'order-8'));
    const of = async (who: string, id: string) => {
      const { status, body } = await ask(who, `/v1/results/${encodeURIComponent(id)}`);
      return [status, JSON.stringify(body).includes('order-8') && status === 200];
    };

    expect(await Promise.all(['order-8', 'shop/order-8'].map((id) => of('shop', id)))).toEqual([
      [200, true],
      [200, true],
    ]);
    expect(await Promise.all(['order-8', 'shop/order-8', '../shop/order-8'].map((id) => of('bank', id)))).toEqual([
      [404, false],
      [404, false],
      [404, false],
    ]);
    expect(await of('house', 'shop/order-8')).toEqual([200, true]);
    expect(await of('house', 'order-8')).toEqual([404, false]);
  });

  it('cannot be had before their time under the id, or the Idempotency-Key, that another client will use', async () => {
    await ask('bank', '/v1/calls?wait=10s', send('mine', 'shop/order-9'));
    await ask('bank', '/v1/calls?wait=10s', send('mine'), { 'idempotency-key': 'shop/order-9' });
    const [byId, byKey] = [
      await ask('shop', '/v1/calls?wait=10s', send('yours', 'order-9')),
      await ask('shop', '/v1/calls?wait=10s', send('yours too'), { 'idempotency-key': 'order-10' }),
    ];

    expect([byId, byKey]).toMatchObject([
      { status: 200, body: { id: 'shop/order-9', status: 'ok' } },
      { status: 200, body: { id: 'shop/order-10', status: 'ok' } },
    ]);
  });

  it('that got their id here are found under the address that the answer names', async () => {
    const { status, body } = await ask('shop', '/v1/calls', send('no id'));
    expect([status, String(body['id']).startsWith('shop/')]).toEqual([202, true]);
    expect((await ask('shop', String(body['result']))).status).toBeLessThan(203);
    expect((await ask('bank', String(body['result']))).status).toBe(404);
  });

  it('may not have an id that is too long with the name before it', async () => {
    const { status, body } = await ask('shop', '/v1/calls', send('long', 'x'.repeat(198)));
    expect([status, body['faults']]).toEqual([
      422,
      [{ at: '/id', message: "must be at most 200 characters with the client's name" }],
    ]);
  });
});
