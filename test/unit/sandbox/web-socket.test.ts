import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { ServerWebSocket } from '../../../src/sandbox/link/web-socket.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';

const MiB = 1_048_576;
const request = { headers: { 'sec-websocket-key': 'key' } } as unknown as IncomingMessage;

/** One frame without a mask; opcode 0 goes on with a message, 2 begins one. */
function frame(opcode: 0 | 2, final: boolean, payload: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head[0] = (final ? 0x80 : 0) | opcode;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

/** A socket on which frames arrive one by one. */
async function received(frames: readonly Buffer[]) {
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const messages: number[] = [];
  const web = new ServerWebSocket(
    request,
    socket,
    (message) => void messages.push(message.length),
    () => undefined,
  );
  for (const bytes of frames) {
    socket.push(bytes);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { destroyed } = socket;
  web.destroy();
  return { messages, destroyed };
}

describe('a WebSocket of the sandbox', () => {
  it('takes a message of 16 MiB in parts, and one after it', async () => {
    const part = Buffer.alloc(4 * MiB);
    const parts = [frame(2, false, part), frame(0, false, part), frame(0, false, part), frame(0, true, part)];

    expect(await received([...parts, ...parts])).toEqual({ messages: [16 * MiB, 16 * MiB], destroyed: false });
  });

  it('ends with a message that is larger, also when each part is small, and hears nothing after that', async () => {
    const part = Buffer.alloc(6 * MiB);
    const parts = [frame(2, false, part), frame(0, false, part), frame(0, false, part)];
    const last = Buffer.concat([frame(0, true, part), frame(2, true, Buffer.from('after'))]);

    expect(await received([...parts.slice(0, 2), last, frame(2, true, Buffer.from('later'))])).toEqual({
      messages: [],
      destroyed: true,
    });
  });

  it('is not given for an address that is none: the sandbox goes on', async () => {
    const sandbox = await createSandbox();
    const { port } = new URL(sandbox.url);
    const closed = new Promise<void>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () =>
        socket.write('GET // HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
      );
      socket.on('error', () => undefined);
      socket.on('close', () => resolve());
      socket.resume();
    });
    await closed;

    expect((await fetch(`${sandbox.url}/callback/ws/endpoint`, { method: 'POST' })).status).toBe(200);
    await sandbox.close();
  });
});
