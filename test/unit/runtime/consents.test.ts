import { afterEach, describe, expect, it, vi } from 'vitest';

import type { Event } from '../../../src/model/event.ts';
import { revokedBody } from '../../../src/sandbox/events/bodies.ts';
import { type EventHouse, openEventHouse } from '../../support/event-house.ts';

vi.setConfig({ testTimeout: 60_000 });
const tokenKey = `tokenKey: ${'k'.repeat(32)}`;

let house: EventHouse;
afterEach(() => house.close());

const call = (more: object) => ({
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: 'oc_1', msg_type: 'text', content: JSON.stringify({ text: 'x' }) },
  ...more,
});
async function make(more: object) {
  const body = JSON.stringify(call(more));
  const answer = await fetch(`${house.served.ingressUrl}/v1/calls?wait=20s`, { method: 'POST', body });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
const events = async () => (await house.records('events')).map(({ value }) => JSON.parse(String(value)) as Event);

/** Goes the way of a user's browser. */
async function consent() {
  const manual = { redirect: 'manual' } as const;
  const start = await fetch(`${house.served.ingressUrl}/oauth/cli_a/start`, manual);
  const page = await fetch(start.headers.get('location') ?? '', manual);
  const { pathname, search } = new URL(page.headers.get('location') ?? '');
  const [cookie = ''] = (start.headers.get('set-cookie') ?? '').split(';');
  const back = await fetch(`${house.served.ingressUrl}${pathname}${search}`, { headers: { cookie } });
  return { status: back.status, body: await back.json() };
}

describe('against the sandbox', () => {
  it('a user consents, calls are made in his name, and end as auth_failed once he takes it back; a late word of that ends no later consent', async () => {
    house = await openEventHouse(
      '  []',
      (url) => `, oauth: { redirectUri: 'https://larkspur.example/oauth/cli_a/callback', accountsUrl: '${url}' }`,
      tokenKey,
    );
    const asUser = { as: { user: 'ou_1' } };
    expect(await make(asUser)).toMatchObject({ status: 503, body: { reason: 'auth_failed' } });
    expect(await consent()).toEqual({ status: 200, body: { app: 'cli_a', open_id: 'ou_1' } });
    await vi.waitFor(async () => expect(await make(asUser)).toMatchObject({ status: 200, body: { status: 'ok' } }), {
      timeout: 40_000,
      interval: 50,
    });

    const takenBackAtMs = Date.now();
    expect((await house.sandbox.revokeConsent(house.target, 'ou_1')).status).toBe(200);
    await vi.waitFor(async () => expect(await make(asUser)).toMatchObject({ body: { reason: 'auth_failed' } }), {
      timeout: 20_000,
      interval: 50,
    });
    expect((await events()).map(({ type }) => type).sort()).toEqual([
      'auth.user_access_token.revoked_v4',
      'token.revoked',
    ]);

    expect((await consent()).status).toBe(200);
    const late = { n: 1, subject: 'ou_1', wallMs: takenBackAtMs, salt: 'late' };
    expect(await house.deliver(revokedBody(house.target, 'ou_1', late))).toBe(200);
    await vi.waitFor(async () => expect(await make(asUser)).toMatchObject({ status: 200 }), {
      timeout: 40_000,
      interval: 50,
    });
    expect((await events()).filter(({ type }) => type === 'token.revoked')).toHaveLength(1);
  });

  it('a store app whose ticket is missing asks for it, and makes the calls of each tenant once it came; it is no event for anybody', async () => {
    house = await openEventHouse('  []', () => ', kind: store', tokenKey);
    const waiting = Promise.all(['tk1', 'tk2'].map((tenant) => make({ tenant })));
    await vi.waitFor(
      () => expect(house.sandbox.requests().map(({ path }) => path)).toContain('/open-apis/auth/v3/app_ticket/resend'),
      { timeout: 10_000 },
    );
    expect((await house.sandbox.sendTicket(house.target)).status).toBe(200);
    expect(await waiting).toMatchObject([
      { status: 200, body: { status: 'ok' } },
      { status: 200, body: { status: 'ok' } },
    ]);
    expect(await events()).toEqual([]);
  });
});
