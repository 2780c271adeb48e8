import { gzipSync } from 'node:zlib';

import { afterEach, describe, expect, it } from 'vitest';

import { seal } from '../../../../src/sandbox/events/seal.ts';
import {
  type EventDoor,
  type EventDoorOptions,
  message,
  openEventDoor,
  signed,
  vectorApp,
} from '../../../support/event-door.ts';
import { seededRandom } from '../../../support/virtual-time.ts';

import { plain2, tight, vectorHeaders } from './vectors.ts';

const open: EventDoor[] = [];
const openDoor = async (options: EventDoorOptions = {}) => {
  const door = await openEventDoor(options);
  open.push(door);
  return door;
};
afterEach(async () => {
  for (const door of open.splice(0).reverse()) await door.close();
});

const key = 'dispatcher-test-key';
const tokenOnly = { ...vectorApp, encryptKeys: [] };

describe('POST /feishu/{app}/events', () => {
  it('answers a plain challenge with the right token', async () => {
    const door = await openDoor({ apps: [tokenOnly] });
    const ask = (token: string) => door.send(JSON.stringify({ challenge: 'c1', token, type: 'url_verification' }));

    expect(await ask('vt_demo')).toMatchObject({ status: 200, text: '{"challenge":"c1"}' });
    expect(await ask('vt_wrong')).toMatchObject({ status: 401 });
  });

  it('takes schema 1.0 by its uuid, never by the uuid inside the event', async () => {
    const door = await openDoor({ apps: [tokenOnly] });
    const approval = (uuid: string, status: string) =>
      door.send(
        JSON.stringify({
          ...{ ts: '1700000000.5', uuid, token: 'vt_demo', type: 'event_callback' },
          event: {
            type: 'approval_instance',
            app_id: tokenOnly.id,
            tenant_key: 'tk',
            instance_code: 'I-1',
            status,
            uuid: 'biz',
          },
        }),
      );
    for (const [uuid, status] of [
      ['u1', 'FOO'],
      ['u2', 'APPROVED'],
      ['u2', 'APPROVED'],
    ] as const) {
      expect((await approval(uuid, status)).status).toBe(200);
    }

    expect(await door.events()).toMatchObject([
      { id: 'u1', type: 'approval_instance', createdAtMs: 1_700_000_000_500, body: { event: { status: 'FOO' } } },
      { id: 'u2', tenant: 'tk' },
    ]);
    expect((await door.records()).map((record) => String(record.key))).toEqual(['I-1', 'I-1']);
  });

  it('takes what is signed with the key that is being replaced', async () => {
    const door = await openDoor({ apps: [{ ...vectorApp, encryptKeys: ['brand-new', key] }] });

    expect((await door.send(tight.body, vectorHeaders(tight.signature))).status).toBe(200);
    expect((await door.deliver(message(1))).status).toBe(200);
  });

  it('keeps apps apart: one key may be shared, events may not', async () => {
    const other = { ...vectorApp, id: 'cli_other' };
    const door = await openDoor({ apps: [vectorApp, other] });
    expect((await door.deliver(message(1))).status).toBe(200);
    expect((await door.deliver(message(1, { app: other }), 'cli_other')).status).toBe(200);
    expect((await door.deliver(message(2), 'cli_other')).status).toBe(401);

    expect((await door.events()).map(({ app, id }) => [app, id]).sort()).toEqual([
      [vectorApp.id, 'om_s1'],
      ['cli_other', 'om_s1'],
    ]);
  });

  it('S000-69: tenant, app, type and id together name an event; none of them collides', async () => {
    const door = await openDoor({ apps: [tokenOnly] });
    const bodyOf = (tenant: string, type: string) =>
      plain2.replace('tk_demo', tenant).replace('im.message.receive_v1', type);
    for (const tenant of ['t1', 't2', 't1/x', 't1%2Fx']) {
      for (const type of ['a.b', 'a.c']) await door.send(bodyOf(tenant, type));
    }

    expect(await door.events()).toHaveLength(8);
  });

  it('S000-33: an event without an id is known by its content, and counted', async () => {
    const door = await openDoor({ apps: [tokenOnly] });
    const body = plain2.replace('"event_id":"evt_demo_0001",', '');
    for (const text of [body, body, body.replace('é', 'e')]) expect((await door.send(text)).status).toBe(200);

    expect((await door.events()).map(({ id }) => id.slice(0, 7))).toEqual(['sha256:', 'sha256:']);
    expect(await door.metrics.text()).toContain(`larkspur_ingress_events_without_id_total{app="${vectorApp.id}"} 3`);
  });

  it('S000-32: the same event under five signatures is one record', async () => {
    const door = await openDoor();
    for (const nonce of ['a', 'b', 'c', 'd', 'e']) {
      expect((await door.send(tight.body, signed(tight.body, key, '1700000001', nonce))).status).toBe(200);
    }

    expect(await door.events()).toHaveLength(1);
  });

  it('takes a body in gzip, and unpacks a bomb no further than its limit', async () => {
    const door = await openDoor({ apps: [tokenOnly] });
    const send = (text: string | Buffer, coding: string) => door.send(text, { 'content-encoding': coding });

    expect((await send(gzipSync(plain2), 'gzip')).status).toBe(200);
    expect((await send(gzipSync(Buffer.alloc(200_000_000)), 'gzip')).status).toBe(413);
    expect((await send(plain2, 'gzip')).status).toBe(400);
    expect((await send(plain2, 'br')).status).toBe(415);
    expect(await door.events()).toHaveLength(1);
  });

  it('S000-29: the open_id on a record comes from the verified event, never from a header', async () => {
    const door = await openDoor();
    const target = { urls: [''], app: vectorApp.id, encryptKey: key };
    const sealed = seal(target, message(7), door.time.wall(), seededRandom(1));
    await door.send(sealed.body, { ...sealed.headers, 'x-feishu-openid': 'ou_forged', 'x-request-id': 'req-1' });

    const [record] = await door.records();
    const headers = Object.fromEntries(record!.headers.map(([name, value]) => [name, String(value)]));
    expect(headers).toMatchObject({ 'x-feishu-openid': 'ou_7', 'x-request-id': 'req-1', ce_id: 'om_s7' });
    expect(String(record?.key)).toBe('oc_1');
  });

  it('keeps every digit of a number', async () => {
    const door = await openDoor({ apps: [tokenOnly] });
    await door.send(plain2.replace('"中文/é"', '12345678901234567890'));

    expect(String((await door.records())[0]?.value)).toContain('"note":12345678901234567890');
  });
});
