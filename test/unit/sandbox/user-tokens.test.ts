import { expect, it } from 'vitest';

import { type Bench, bench } from './client.ts';

const redirect = 'http://127.0.0.1:1/back';

/** A user consents, and the app has a token of that user. */
async function consented(b: Bench, app: string, secret: string): Promise<string> {
  const page = await b.ask(
    `/open-apis/authen/v1/authorize?client_id=${app}&redirect_uri=${encodeURIComponent(redirect)}`,
  );
  const code = new URL(page.headers['location'] ?? '').searchParams.get('code');
  const body = {
    grant_type: 'authorization_code',
    client_id: app,
    client_secret: secret,
    code,
    redirect_uri: redirect,
  };
  const reply = await b.ask('/open-apis/authen/v2/oauth/token', { method: 'POST', body });
  return (reply.json as { access_token?: string }).access_token ?? '';
}

it('a token of a user that is over is refused as such, not as one of a tenant', async () => {
  const b = await bench({ settings: { tokenErrorStatus: 200 } });
  b.token = await consented(b, 'cli_a1', 's3cret');
  expect((await b.send('oc_1', 1)).json.code).toBe(0);
  b.sandbox.revokeTokens();
  expect(await b.send('oc_1', 2)).toMatchObject({ status: 400, json: { code: 99991668 } });
  b.token = 't-none';
  expect(await b.send('oc_1', 2)).toMatchObject({ status: 200, json: { code: 99991663 } });
});

it('a token of a user draws on the quota of the tenant in which its app is installed', async () => {
  const apps = [{ id: 'cli_a1', secret: 's3cret', tenant: 'acme' }];
  const b = await bench({ apps });
  await b.send('oc_1', 1);
  b.token = await consented(b, 'cli_a1', 's3cret');
  await b.send('oc_1', 2);
  expect(b.sandbox.stats().buckets).toMatchObject([{ bucket: 'cli_a1/acme/im.message.create', arrivals: 2 }]);
});
