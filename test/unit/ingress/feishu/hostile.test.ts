import { createCipheriv, createHash } from 'node:crypto';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type EventDoor, openEventDoor, signed, vectorApp } from '../../../support/event-door.ts';
import { seededRandom } from '../../../support/virtual-time.ts';

import { plain2, tight, vector2, vectorHeaders } from './vectors.ts';

const key = 'dispatcher-test-key';
const tokenApp = { id: 'cli_token', encryptKeys: [], verificationTokens: ['token-secret'] };
let door: EventDoor;
beforeAll(async () => {
  door = await openEventDoor({ apps: [vectorApp, tokenApp] });
});
afterAll(() => door.close());

/** Bytes as the Encrypt Key seals them, whatever they are. */
function sealed(plain: string | Buffer): string {
  const cipher = createCipheriv('aes-256-cbc', createHash('sha256').update(key).digest(), Buffer.alloc(16));
  return JSON.stringify({
    encrypt: Buffer.concat([Buffer.alloc(16), cipher.update(plain), cipher.final()]).toString('base64'),
  });
}
const sendSigned = (body: string) => door.send(body, signed(body, key));
const flipped = (at: number) => {
  const bytes = Buffer.from(vector2, 'base64');
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  return JSON.stringify({ encrypt: bytes.toString('base64') });
};
const own = () =>
  JSON.parse(plain2.replace('cli_0123456789abcdef', 'cli_token').replace('"vt_demo"', '"token-secret"')) as object;

describe('what nobody at Feishu would send', () => {
  it.each<[string, () => ReturnType<EventDoor['send']>, number]>([
    ['no signature', () => door.send(tight.body), 401],
    ['a wrong signature', () => door.send(tight.body, vectorHeaders('0'.repeat(64))), 401],
    ['a signature of another length', () => door.send(tight.body, vectorHeaders('00')), 401],
    ['a signature that is no hex', () => door.send(tight.body, vectorHeaders('zz'.repeat(32))), 401],
    ['a signature over another body', () => door.send(`${tight.body} `, vectorHeaders(tight.signature)), 401],
    ['a signature that is a day old', () => door.send(tight.body, signed(tight.body, key, '1699900000')), 401],
    ['a signature from tomorrow', () => door.send(tight.body, signed(tight.body, key, '1700090000')), 401],
    ['a signature without a time', () => door.send(tight.body, signed(tight.body, key, 'soon')), 401],
    ['a plain body that is signed', () => sendSigned(plain2), 400],
    [
      'a plain body beside a sealed one',
      () => sendSigned(JSON.stringify({ ...(JSON.parse(plain2) as object), encrypt: 7 })),
      400,
    ],
    ['no JSON', () => sendSigned('{'), 400],
    ['a list', () => sendSigned('[]'), 400],
    ['nothing', () => sendSigned(''), 400],
    ['bytes that are no UTF-8 inside', () => sendSigned(sealed(Buffer.from([0x7b, 0xff, 0x7d]))), 400],
    ['a short cipher text', () => sendSigned(JSON.stringify({ encrypt: 'AAAA' })), 400],
    ['a cipher text with a bit flipped', () => sendSigned(flipped(40)), 400],
    [
      'a cipher text with its padding flipped',
      () => sendSigned(flipped(Buffer.from(vector2, 'base64').length - 17)),
      400,
    ],
    ['an event of another app', () => sendSigned(sealed(plain2.replace('cli_0123456789abcdef', 'cli_else'))), 401],
    ['ten thousand levels', () => sendSigned(sealed(`{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`)), 400],
    ['a type with a line break', () => sendSigned(sealed(plain2.replace('im.message', 'im\\r\\nx: y'))), 400],
    ['two megabytes', () => door.send(Buffer.alloc(2_000_000, 32)), 413],
    ['another content type', () => door.send(tight.body, { 'content-type': 'text/xml' }), 415],
    ['a wrong token', () => door.send(plain2, {}, 'cli_token'), 401],
    [
      'a token that is no text',
      () => door.send(JSON.stringify({ ...own(), header: { token: {} } }), {}, 'cli_token'),
      401,
    ],
    [
      'a token in the prototype',
      () =>
        door.send('{"__proto__":{"token":"token-secret","type":"url_verification","challenge":"c"}}', {}, 'cli_token'),
      401,
    ],
    ['an app in the prototype', () => door.send(tight.body, {}, '__proto__'), 404],
    ['an app that climbs', () => door.send(tight.body, {}, '..%2f..'), 404],
  ])('%s', async (_, send, status) => {
    expect((await send()).status).toBe(status);
    expect(await door.events()).toEqual([]);
  });

  it('a probe of the padding learns nothing: every unsigned body is answered alike', async () => {
    const bodies = [
      tight.body,
      flipped(40),
      flipped(200),
      sealed('no json'),
      sealed(plain2),
      '{"encrypt":"AAAA"}',
      '{}',
      'x',
    ];
    const answers = await Promise.all(bodies.map((body) => door.send(body)));

    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  });

  it('members named __proto__ and constructor change nothing but the event that holds them', async () => {
    const text = plain2.replace(
      '"note"',
      '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"note"',
    );
    const fresh = await openEventDoor();
    const body = sealed(text);
    expect((await fresh.send(body, signed(body, key))).status).toBe(200);

    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(await fresh.events()).toHaveLength(1);
    await fresh.close();
  });

  it('a replay of a signed request is one event, however often it comes', async () => {
    const fresh = await openEventDoor();
    for (let n = 0; n < 50; n++)
      expect((await fresh.send(tight.body, vectorHeaders(tight.signature))).status).toBe(200);

    expect(await fresh.events()).toHaveLength(1);
    await fresh.close();
  });

  it('3,000 mutations of a good request: none is taken, none is a fault of ours', async () => {
    const random = seededRandom(7);
    const pick = (below: number) => Math.floor(random.next() * below);
    const statuses = new Set<number>();
    for (let round = 0; round < 60; round++) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const bytes = Buffer.from(tight.body);
          for (let i = 0; i <= pick(4); i++) bytes.writeUInt8(pick(256), pick(bytes.length));
          const cut = random.next() < 0.2 ? bytes.subarray(0, pick(bytes.length)) : bytes;
          if (cut.equals(Buffer.from(tight.body))) return { status: 401 };
          return door.send(cut, random.next() < 0.5 ? vectorHeaders(tight.signature) : {});
        }),
      );
      for (const { status } of answers) statuses.add(status);
    }

    expect([...statuses]).toEqual([401]);
    expect(await door.events()).toEqual([]);
  });

  it('what is no HTTP, and headers with line breaks, are refused on the socket', async () => {
    const said = await new Promise<string>((resolve) => {
      const socket = connect(door.port, '127.0.0.1', () =>
        socket.write('POST /feishu/x/events HTTP/1.1\r\nhost: a\r\nx-request-id: a\rb: c\r\n\r\n'),
      );
      let text = '';
      socket.on('data', (chunk) => (text += String(chunk)));
      socket.on('close', () => resolve(text));
    });

    expect(said).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('nothing secret stands in log or answers', async () => {
    const answer = await door.send(plain2, {}, 'cli_token');
    const all = door.log.text + answer.text + (await door.metrics.text());

    for (const secret of [key, 'token-secret', 'vt_demo', vector2.slice(0, 40), '中文'])
      expect(all).not.toContain(secret);
  });
});
