import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

import { afterEach, expect, it, vi } from 'vitest';

import { type EventDoor, message, openEventDoor, signed, vectorApp } from '../../../support/event-door.ts';
import { seededRandom } from '../../../support/virtual-time.ts';

const key = 'dispatcher-test-key';
vi.setConfig({ testTimeout: 180_000 });

let door: EventDoor;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await door.close();
});

function sealed(plain: string | Buffer): string {
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', createHash('sha256').update(key).digest(), iv);
  return JSON.stringify({ encrypt: Buffer.concat([iv, cipher.update(plain), cipher.final()]).toString('base64') });
}

it('10,000 hostile requests of ten kinds: none is taken, none is a fault of ours, memory stays flat, nothing secret is logged', async () => {
  door = await openEventDoor();
  const random = seededRandom(11);
  const good = sealed(JSON.stringify(message(1)));
  const padding = (body: string): string => {
    const bytes = Buffer.from((JSON.parse(body) as { encrypt: string }).encrypt, 'base64');
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 17) ^ (1 + Math.floor(random.next() * 255)), bytes.length - 17);
    return JSON.stringify({ encrypt: bytes.toString('base64') });
  };
  const old = '1699900000';
  const bomb = gzipSync(Buffer.alloc(8_000_000, 0x5b));
  const kinds: readonly (() => ReturnType<EventDoor['send']>)[] = [
    () => door.send(good, signed(good, 'another-key')),
    () => door.send(good, signed(good, key, old)),
    () => door.send(Buffer.alloc(1_100_000, 0x20)),
    () => door.send(padding(good), signed(good, key)),
    () => door.send(padding(good)),
    () => door.send(JSON.stringify({ encrypt: randomBytes(64).toString('base64') }), {}),
    () => {
      const body = sealed(`${'[{"a":'.repeat(3_000)}1${'}]'.repeat(3_000)}`);
      return door.send(body, signed(body, key));
    },
    () => door.send(bomb, { 'content-encoding': 'gzip' }),
    () => {
      const body = sealed(
        '{"__proto__":{"schema":"2.0","header":{"event_type":"x"}},"constructor":{"prototype":{"polluted":1}}}',
      );
      return door.send(body, signed(body, key));
    },
    () => {
      const body = sealed(
        JSON.stringify({ schema: '2.0', header: { event_id: 'e', event_type: 'a\r\nx-evil: 1' }, event: {} }),
      );
      return door.send(body, signed(body, key));
    },
  ];
  const statuses: Record<string, number> = {};
  const heaps: number[] = [];
  for (let round = 0; round < 100; round++) {
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => kinds[n % kinds.length]!()));
    for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
    if (round % 25 === 24) heaps.push(process.memoryUsage().heapUsed);
  }

  expect(Object.keys(statuses).filter((status) => !['400', '401', '413'].includes(status))).toEqual([]);
  expect(Object.values(statuses).reduce((a, b) => a + b, 0)).toBe(10_000);
  expect(await door.events()).toEqual([]);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
  expect(Math.max(...heaps) - Math.min(...heaps)).toBeLessThan(128 * 1_048_576);
  for (const secret of [key, ...vectorApp.verificationTokens, 'x-evil']) expect(door.log.text).not.toContain(secret);
  const fine = await door.deliver(message(2));
  expect(fine.status).toBe(200);
});

it('S004-09: 2,000 slow clients hold up nobody else', async () => {
  door = await openEventDoor();
  await Promise.all(
    Array.from(
      { length: 2_000 },
      () =>
        new Promise<void>((open) => {
          const socket = connect(door.port, '127.0.0.1', () => {
            socket.write('POST /feishu/x/events HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{');
            open();
          });
          socket.on('error', () => undefined);
          sockets.push(socket);
        }),
    ),
  );
  const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => door.deliver(message(n))));
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(sockets.filter(({ destroyed }) => !destroyed)).toHaveLength(2_000);
});
