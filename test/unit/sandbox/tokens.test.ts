import { describe, expect, it } from 'vitest';

import { bench } from './client.ts';

const minutes = (count: number) => count * 60_000;

describe('sandbox tokens', () => {
  it('gives the same token again while 30 minutes or more are left, then a new one, and both live to their own end', async () => {
    const b = await bench();
    const first = b.token;

    b.time.advance(minutes(90));
    const again = await b.signIn();
    expect(again.json).toMatchObject({ code: 0, tenant_access_token: first, expire: 1_800 });

    b.time.advance(1_000);
    await b.signIn();
    const second = b.token;
    expect(second).not.toBe(first);

    b.token = first;
    b.time.advance(minutes(30) - 1_001);
    expect((await b.send('oc_1', 1)).status).toBe(200);
    b.time.advance(1);
    expect((await b.send('oc_1', 2)).json.code).toBe(99991663);
    b.token = second;
    expect((await b.send('oc_1', 2)).status).toBe(200);
  });

  it('answers wrong credentials with HTTP 200 and a flat body', async () => {
    const b = await bench({ apps: [{ id: 'cli_a1', secret: 's3cret' }] });

    expect(await b.signIn('cli_a1', 'wrong')).toMatchObject({ status: 200, json: { code: 10014 } });
    expect(await b.signIn('cli_a2', 's3cret')).toMatchObject({ status: 200, json: { code: 10003 } });
    expect(await b.signIn('', '')).toMatchObject({ status: 200, json: { code: 10003 } });
  });

  it('without a list of apps holds each app to the secret it brought first', async () => {
    const b = await bench();

    expect((await b.signIn('cli_new', 'one')).json.code).toBe(0);
    expect((await b.signIn('cli_new', 'two')).json.code).toBe(10014);
  });

  it('gives an app token that is the tenant token', async () => {
    const b = await bench();
    const reply = await b.ask('/open-apis/auth/v3/app_access_token/internal', {
      method: 'POST',
      body: { app_id: 'cli_a1', app_secret: 's3cret' },
    });

    expect(reply.json).toMatchObject({
      code: 0,
      app_access_token: b.token,
      tenant_access_token: b.token,
      expire: 7_200,
    });
  });

  it('refuses a call without token and with an unknown one, in the shape of the platform', async () => {
    const b = await bench();
    b.token = 't-unknown';
    const unknown = await b.send('oc_1', 1);
    const none = await b.ask('/open-apis/contact/v3/users/ou_1');

    expect(none).toMatchObject({ status: 400, json: { code: 99991661 } });
    expect(unknown).toMatchObject({ status: 400, json: { code: 99991663 } });
    expect(unknown.json.error?.['log_id']).toBe(unknown.headers['x-tt-logid']);
    expect(b.sandbox.effects().effects).toBe(0);

    b.sandbox.configure({ tokenErrorStatus: 200 });
    expect(await b.send('oc_1', 1)).toMatchObject({ status: 200, json: { code: 99991663 } });
  });

  it('revokes at run time and then gives a new token, or when stuck the dead one', async () => {
    const b = await bench();
    const first = b.token;

    expect(b.sandbox.revokeTokens({ app: 'cli_a1' })).toBe(1);
    expect((await b.send('oc_1', 1)).json.code).toBe(99991663);
    await b.signIn();
    expect(b.token).not.toBe(first);
    expect((await b.send('oc_1', 1)).json.code).toBe(0);

    await b.ask('/_sandbox/tokens/revoke', { method: 'POST', body: { app: 'cli_a1', stuck: true } });
    const dead = b.token;
    await b.signIn();
    expect(b.token).toBe(dead);
    expect((await b.send('oc_1', 2)).json.code).toBe(99991663);
  });
});
