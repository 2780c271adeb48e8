import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { firstValueFrom, toArray } from 'rxjs';
import { expect, it, vi } from 'vitest';

import { userKey } from '../../../src/adapters/feishu/user-tokens.ts';
import { SealedVault, SecretBox } from '../../../src/adapters/system/sealed-vault.ts';
import type { Event } from '../../../src/model/event.ts';
import { headerText } from '../../../src/model/record.ts';
import { serve } from '../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { only } from '../../support/only.ts';

const waiting = { timeout: 30_000, interval: 20 };
const tokenKey = 'k'.repeat(32);

it('S000-08: calls of a user whose consent is over end as auth_failed after one refresh, others go on, and one token.revoked is told', async () => {
  const refreshed: string[] = [];
  const asked: string[] = [];
  const upstream = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += String(chunk)));
    request.on('end', () => {
      const { refresh_token: token = '' } = (body === '' ? {} : JSON.parse(body)) as { refresh_token?: string };
      if (request.url?.includes('/oauth/token') === true) {
        refreshed.push(token);
        response.writeHead(400).end(JSON.stringify({ code: 20_064, error: 'invalid_grant' }));
      } else {
        asked.push(request.headers.authorization ?? '');
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ code: 0, data: { as: request.headers.authorization } }));
      }
    });
  });
  await new Promise<void>((listening) => upstream.listen(0, '127.0.0.1', listening));
  const files = new ConfigFiles();
  const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
tokenKey: ${tokenKey}
apps: [{ id: cli_a, secret: s }]
upstreams: { feishu: { baseUrl: 'http://127.0.0.1:${(upstream.address() as AddressInfo).port}' } }
`);
  files.remove();
  const served = await serve(config, [], { worker: true, ingress: true });
  const vault = new SealedVault(served.stores.entries, new SecretBox([tokenKey]));
  const consent = async (user: string, accessLifeMs: number): Promise<void> => {
    const pair = { access: `u-${user}`, accessEndsAtMs: Date.now() + accessLifeMs, refresh: `r-${user}` };
    const text = JSON.stringify({ ...pair, refreshEndsAtMs: Date.now() + 1e9 });
    await firstValueFrom(vault.write(userKey('cli_a', user), text, 0, 1e9));
  };
  await consent('ou_gone', 1_000);
  await consent('ou_here', 7_200_000);
  const read = (user: string) =>
    fetch(`${served.ingressUrl ?? ''}/v1/calls?wait=20s`, {
      method: 'POST',
      body: JSON.stringify({ path: '/open-apis/contact/v3/users/ou_1', as: { user } }),
    });
  const gone = await Promise.all(Array.from({ length: 5 }, () => read('ou_gone')));
  const here = await read('ou_here');

  expect(gone.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
  expect(asked).toEqual(['Bearer u-ou_here']);
  // An upstream that gives the token back does not get it into a result.
  expect(await here.json()).toMatchObject({ response: { body: { data: { as: 'Bearer [redacted]' } } } });
  const letters = await only(served.stores.tail('dead-letters', 100).pipe(toArray()));
  expect(letters.map(({ headers }) => headerText(headers, 'larkspur-reason'))).toEqual(Array(5).fill('auth_failed'));
  expect(refreshed).toEqual(['r-ou_gone']);
  await vi.waitFor(async () => {
    const events = await only(served.stores.tail('events', 100).pipe(toArray()));
    expect(events.map(({ value }) => JSON.parse(String(value)) as Event)).toMatchObject([
      { type: 'token.revoked', app: 'cli_a', body: { event: { open_id: 'ou_gone', reason: 'invalid_grant' } } },
    ]);
  }, waiting);
  await served.stop();
  upstream.close();
}, 60_000);
