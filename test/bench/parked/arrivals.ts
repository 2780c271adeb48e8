import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What came of the calls of one key: `first` is refused once and told when to come again, `next` stands behind it. */
interface Key {
  /** When the refused call may come again, epoch milliseconds. */
  dueMs: number;
  readonly arrivals: { readonly name: string; readonly atMs: number }[];
}

/** An upstream that refuses the first call of each key, each until a time of its own, and notes when which call comes. */
export class Arrivals {
  readonly #keys = new Map<string, Key>();
  readonly #server: Server;
  readonly #dueMs: (key: number) => number;
  #refused = 0;

  /** @param dueMs when the first call of a key may come again, epoch milliseconds */
  constructor(dueMs: (key: number) => number) {
    this.#dueMs = dueMs;
    this.#server = createServer((request, response) => {
      const [name = '', key = ''] = String(request.headers['x-request-id']).split('-');
      const waitSeconds = this.#arrive(name, key);
      if (waitSeconds === undefined) response.writeHead(200).end('{}');
      else response.writeHead(503, { 'retry-after': String(waitSeconds) }).end();
    });
    this.#server.keepAliveTimeout = 600_000;
  }

  /** Returns its port. */
  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** First calls that were refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /** All that came, refused or not. */
  get count(): number {
    let count = 0;
    for (const { arrivals } of this.#keys.values()) count += arrivals.length;
    return count;
  }

  /** How late each refused call came again, milliseconds; negative: before its time. */
  get lateMs(): number[] {
    const late: number[] = [];
    for (const { dueMs, arrivals } of this.#keys.values()) {
      const again = arrivals.filter(({ name }) => name === 'first')[1];
      if (again !== undefined) late.push(again.atMs - dueMs);
    }
    return late;
  }

  /** How long after the one before it each call came that stood behind another, milliseconds. */
  get behindMs(): number[] {
    const behind: number[] = [];
    for (const { arrivals } of this.#keys.values()) {
      const [, before, next] = arrivals;
      if (before !== undefined && next?.name === 'next') behind.push(next.atMs - before.atMs);
    }
    return behind;
  }

  /** Keys whose calls did not come as they must: refused, again, then the next one. */
  get outOfOrder(): number {
    let wrong = 0;
    for (const { arrivals } of this.#keys.values()) {
      const names = arrivals.map(({ name }) => name).join();
      if (!'first,first,next'.startsWith(names)) wrong++;
    }
    return wrong;
  }

  #arrive(name: string, key: string): number | undefined {
    const nowMs = Date.now();
    let known = this.#keys.get(key);
    if (known === undefined) this.#keys.set(key, (known = { dueMs: 0, arrivals: [] }));
    known.arrivals.push({ name, atMs: nowMs });
    if (name !== 'first' || known.arrivals.length > 1) return undefined;
    this.#refused++;
    const seconds = Math.max(1, Math.ceil((this.#dueMs(Number(key)) - nowMs) / 1_000));
    known.dueMs = nowMs + seconds * 1_000;
    return seconds;
  }
}
