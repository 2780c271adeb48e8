import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const mostBytes = 16 * 1_048_576;
const opcodes = { binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** The server's side of one WebSocket (RFC 6455): binary messages of 16 MiB at most, no extensions. */
export class ServerWebSocket {
  readonly #socket: Duplex;
  readonly #received: (message: Buffer) => void;
  #unread = Buffer.alloc(0);
  #message: Buffer[] = [];
  #messageBytes = 0;

  /** Takes over the socket of an upgrade. @param received gets whole messages @param closed is called once */
  constructor(request: IncomingMessage, socket: Duplex, received: (message: Buffer) => void, closed: () => void) {
    this.#socket = socket;
    this.#received = received;
    const accept = createHash('sha1')
      .update(String(request.headers['sec-websocket-key']) + guid)
      .digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('error', () => socket.destroy());
    socket.once('close', closed);
  }

  send(message: Buffer): void {
    this.#write(opcodes.binary, message);
  }

  /** Ends it without a word, as a machine that dies. */
  destroy(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    for (let frame = this.#take(); frame !== undefined; frame = this.#take()) this.#handle(frame);
    if (this.#unread.length > mostBytes) this.destroy();
  }

  #handle({ opcode, final, payload }: Frame): void {
    if (opcode === opcodes.close) {
      this.#write(opcodes.close, payload);
      this.#socket.end();
    } else if (opcode === opcodes.ping) this.#write(opcodes.pong, payload);
    else if (opcode < opcodes.close) {
      this.#messageBytes += payload.length;
      if (this.#messageBytes > mostBytes) {
        this.destroy();
        return;
      }
      this.#message.push(payload);
      if (!final) return;
      const message = Buffer.concat(this.#message);
      this.#message = [];
      this.#messageBytes = 0;
      this.#received(message);
    }
  }

  /** The next whole frame of what has come, without its mask. */
  #take(): Frame | undefined {
    const bytes = this.#unread;
    // What comes after the end is for nobody.
    if (bytes.length < 2 || this.#socket.destroyed) return undefined;
    const [first, second] = [bytes.readUInt8(0), bytes.readUInt8(1)];
    const short = second & 0x7f;
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
    const maskBytes = second & 0x80 ? 4 : 0;
    const head = 2 + lengthBytes + maskBytes;
    if (bytes.length < head) return undefined;
    const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
    if (bytes.length < head + length) return undefined;
    const mask = bytes.subarray(head - maskBytes, head);
    const payload = Buffer.from(bytes.subarray(head, head + length));
    for (let at = 0; at < length && maskBytes > 0; at++) payload[at] = (payload[at] ?? 0) ^ (mask[at % 4] ?? 0);
    this.#unread = bytes.subarray(head + length);
    return { opcode: first & 0x0f, final: (first & 0x80) !== 0, payload };
  }

  #write(opcode: number, payload: Buffer): void {
    if (!this.#socket.writable) return;
    const { length } = payload;
    const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
    head[0] = 0x80 | opcode;
    head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
    if (length >= 65_536) head.writeBigUInt64BE(BigInt(length), 2);
    else if (length >= 126) head.writeUInt16BE(length, 2);
    this.#socket.write(Buffer.concat([head, payload]));
  }
}

interface Frame {
  readonly opcode: number;
  readonly final: boolean;
  readonly payload: Buffer;
}
