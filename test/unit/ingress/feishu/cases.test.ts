import { createHmac } from 'node:crypto';

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

import { plain2, spaced, tight, vectorHeaders } from './vectors.ts';

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
const hour = 3_600_000;

describe('POST /feishu/{app}/events', () => {
  it('F1: a message delivered again after 321 s is one record and two answers of 200', async () => {
    const door = await openDoor();
    expect(await door.deliver(message(1))).toMatchObject({ status: 200, text: '{}' });
    door.time.advance(321_000);
    expect(await door.deliver(message(1))).toMatchObject({ status: 200 });

    expect(await door.events()).toMatchObject([{ id: 'om_s1', type: 'im.message.receive_v1', via: 'webhook' }]);
    expect(await door.metrics.text()).toContain('outcome="duplicate"} 1');
  });

  it('F2, S000-70: the whole schedule of redeliveries up to 7 h is one record', async () => {
    const door = await openDoor();
    for (const waitMs of [0, 15_000, 300_000, hour, 6 * hour]) {
      door.time.advance(waitMs);
      expect((await door.deliver(message(1))).status).toBe(200);
    }

    expect(await door.events()).toHaveLength(1);
  });

  it('F3: of a received message the message_id tells a repeat, whatever its event_id', async () => {
    const door = await openDoor();
    const again = JSON.parse(JSON.stringify(message(1)).replace('ev_s1', 'ev_other')) as unknown;
    await door.deliver(message(1));
    await door.deliver(again);

    expect(await door.events()).toHaveLength(1);
  });

  it('F4: a never-seen event of six and a half hours ago is taken and says that it is late', async () => {
    const door = await openDoor();
    await door.deliver(message(1, { wallMs: door.time.wall() - 6.5 * hour }));
    await door.deliver(message(2));

    expect((await door.events()).map(({ late }) => late)).toEqual([true, undefined]);
  });

  it('F5: after its time an event is taken as new, and a metric shows it', async () => {
    const door = await openDoor({ settings: { dedupeMs: 8 * hour } });
    await door.deliver(message(1));
    door.time.advance(8 * hour + 1_000);
    await door.deliver(message(1));

    expect(await door.events()).toHaveLength(2);
    expect(await door.metrics.text()).toContain('outcome="stored-past-memory"} 1');
  });

  it('F10: the signature covers the bytes as they came; without message_id the event_id tells a repeat', async () => {
    const door = await openDoor();
    expect((await door.send(spaced.body, vectorHeaders(spaced.signature))).status).toBe(200);
    expect((await door.send(tight.body, vectorHeaders(tight.signature))).status).toBe(200);

    const [event, ...more] = await door.events();
    expect(event).toMatchObject({ id: 'evt_demo_0001', tenant: 'tk_demo', body: { event: { note: '中文/é' } } });
    expect(more).toEqual([]);
    // Every byte of it, but for what proves that an event is Feishu's.
    const body = plain2.replace('"vt_demo"', '"[redacted]"');
    expect(String((await door.records())[0]?.value)).toContain(`"body":${body}}`);
  });

  it('F11: an encrypted challenge needs no signature, but the right token', async () => {
    const door = await openDoor();
    const ask = (token: string) => {
      const body = { challenge: 'c1', token, type: 'url_verification' };
      const target = { urls: [''], app: vectorApp.id, encryptKey: key };
      return door.send(seal(target, body, 0, seededRandom(1), false).body);
    };

    expect(await ask('vt_demo')).toMatchObject({ status: 200, text: '{"challenge":"c1"}' });
    expect(await ask('vt_wrong')).toMatchObject({ status: 401 });
  });

  it('F12: takes the hash of the Encrypt Key, and no HMAC of the token', async () => {
    const door = await openDoor();
    const hmac = createHmac('sha256', 'vt_demo').update(`1700000001n-42${tight.body}`).digest('hex');

    expect((await door.send(tight.body, vectorHeaders(hmac))).status).toBe(401);
    expect((await door.send(tight.body, vectorHeaders(tight.signature))).status).toBe(200);
  });

  it('F13: a signed timestamp that is the text of a Go time is hashed as it came and read', async () => {
    const wallMs = Date.UTC(2026, 9, 4, 10, 23, 47);
    const door = await openDoor({ wallMs });
    const time = '2026-10-04 18:23:46.05 +0800 CST m=+3612.1';
    const old = '2026-10-04 01:23:46.05 +0800 CST m=+3612.1';

    expect((await door.send(tight.body, signed(tight.body, key, time))).status).toBe(200);
    expect((await door.send(tight.body, signed(tight.body, key, old))).status).toBe(401);
  });

  it('F14: without an Encrypt Key the token decides; with neither there is no door', async () => {
    const door = await openDoor({
      apps: [tokenOnly, { ...vectorApp, id: 'cli_bare', encryptKeys: [], verificationTokens: [] }],
    });

    expect((await door.send(plain2)).status).toBe(200);
    expect((await door.send(plain2.replace('"vt_demo"', '"vt_wrong"'))).status).toBe(401);
    expect((await door.send(plain2, {}, 'cli_bare')).status).toBe(404);
    expect((await door.send(plain2, {}, 'cli_unknown')).status).toBe(404);
  });
});
