import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import type { FastifyInstance } from 'fastify';

import { jsonOrText } from '../../model/json-levels.ts';
import { decodeLinkFrame, encodeLinkFrame, linkHeader, type LinkFrame } from '../../model/link-frame.ts';
import { isTree } from '../../model/schema-words.ts';
import type { SandboxRandom, SandboxTimers } from '../world-ports.ts';

import { ServerWebSocket } from './web-socket.ts';

/** What a client said to something that was delivered over a long connection. */
export interface LinkAnswer {
  readonly code: number;
  /** Of a callback. */
  readonly data: string;
}

/** How the sandbox treats long connections. */
export interface LinkFaults {
  /** Code with which the endpoint refuses; absent: it does not. */
  readonly refuse?: number;
  /** Nothing is answered any more on connections that are open, not even a ping: as after a line that was cut. */
  readonly silent?: boolean;
  /** Connections of an app beyond so many are refused with 1000040350. Default 50. */
  readonly most?: number;
  /** Bytes of one frame's payload, beyond which a message comes in parts. Default 64 KiB. */
  readonly partBytes?: number;
}

interface Link {
  readonly app: string;
  readonly service: number;
  readonly socket: ServerWebSocket;
}

const path = '/callback/ws';
const usual = { refuse: undefined, silent: false, most: 50, partBytes: 65_536 };
const tooMany = 1_000_040_350;

/** Feishu's side of long connections: the endpoint, the connections, and deliveries to one of an app's, chosen by chance. */
export class Links {
  readonly #random: SandboxRandom;
  readonly #timers: SandboxTimers;
  readonly #links = new Set<Link>();
  readonly #waiting = new Map<string, (answer: LinkAnswer | undefined) => void>();
  readonly #admits: (app: unknown, secret: unknown) => boolean;
  #faults: Required<Omit<LinkFaults, 'refuse'>> & { readonly refuse: number | undefined } = usual;
  #messages = 0;
  #services = 0;

  /** @param admits whether an app has shown its secret */
  constructor(
    world: { readonly random: SandboxRandom; readonly timers: SandboxTimers },
    admits: (app: unknown, secret: unknown) => boolean,
  ) {
    this.#random = world.random;
    this.#timers = world.timers;
    this.#admits = admits;
  }

  /** Puts endpoint and connections on a server. */
  serve(server: FastifyInstance): void {
    server.post(`${path}/endpoint`, ({ body, headers }) => {
      const { AppID: app, AppSecret: secret } = (body ?? {}) as { AppID?: unknown; AppSecret?: unknown };
      const { refuse, most } = this.#faults;
      if (!this.#admits(app, secret)) return { code: 514, msg: 'auth failed' };
      if (refuse !== undefined) return { code: refuse, msg: 'refused' };
      if (this.connected(String(app)) >= most) return { code: tooMany, msg: 'too many connections' };
      const service = ++this.#services;
      const url = `ws://${headers.host ?? ''}${path}?app=${encodeURIComponent(String(app))}&service_id=${service}`;
      const config = { ReconnectCount: -1, ReconnectInterval: 2, ReconnectNonce: 1, PingInterval: 1 };
      return { code: 0, msg: 'ok', data: { URL: url, ClientConfig: config } };
    });
    server.server.on('upgrade', (request: IncomingMessage, socket: Duplex) => this.#open(request, socket));
  }

  /** Connections of an app. */
  connected(app: string): number {
    return [...this.#links].filter((link) => link.app === app).length;
  }

  /** Changes how connections are treated from now on; what is not named is as usual. */
  setFaults(faults: LinkFaults): void {
    this.#faults = { ...usual, ...faults };
  }

  /** Ends all connections without a word. */
  drop(): void {
    for (const { socket } of this.#links) socket.destroy();
  }

  /** Sends a body to one connection of an app, in parts if it is large; `undefined`: no answer in time, or no connection. */
  deliver(app: string, body: unknown, withinMs: number): Promise<LinkAnswer | undefined> {
    const links = [...this.#links].filter((link) => link.app === app);
    const link = links[Math.floor(this.#random.next() * links.length)];
    if (link === undefined) return Promise.resolve(undefined);
    const id = `link-${++this.#messages}`;
    const payload = Buffer.from(JSON.stringify(body));
    const { partBytes } = this.#faults;
    const sum = Math.max(1, Math.ceil(payload.length / partBytes));
    return new Promise((resolve) => {
      const end = (answer: LinkAnswer | undefined): void => {
        cancel();
        this.#waiting.delete(id);
        resolve(answer);
      };
      const cancel = this.#timers.after(withinMs, () => end(undefined));
      this.#waiting.set(id, end);
      for (let seq = 0; seq < sum; seq++) {
        const headers = Object.entries({ type: 'event', message_id: id, sum, seq, trace_id: `trace-${id}` });
        link.socket.send(
          encodeLinkFrame({
            ...{ seqId: BigInt(seq), logId: 1n, service: link.service, method: 'data' },
            headers: headers.map(([key, value]) => [key, String(value)] as const),
            payload: payload.subarray(seq * partBytes, (seq + 1) * partBytes),
          }),
        );
      }
    });
  }

  #open(request: IncomingMessage, socket: Duplex): void {
    const [url = '', base] = [request.url, 'http://sandbox'];
    const asked = URL.canParse(url, base) ? new URL(url, base) : undefined;
    if (asked?.pathname !== path) {
      socket.destroy();
      return;
    }
    const { searchParams } = asked;
    const link: Link = {
      app: searchParams.get('app') ?? '',
      service: Number(searchParams.get('service_id')),
      socket: new ServerWebSocket(
        request,
        socket,
        (message) => this.#received(link, message),
        () => this.#links.delete(link),
      ),
    };
    this.#links.add(link);
  }

  #received({ socket }: Link, message: Buffer): void {
    const frame = decodeLinkFrame(message);
    if (frame === undefined || this.#faults.silent) return;
    if (frame.method === 'control') socket.send(encodeLinkFrame(pongTo(frame)));
    else this.#waiting.get(linkHeader(frame, 'message_id') ?? '')?.(answerIn(frame.payload));
  }
}

function pongTo(frame: LinkFrame): LinkFrame {
  return { ...frame, headers: [['type', 'pong']], payload: Buffer.from('{}') };
}

/** `undefined`: it is none. */
function answerIn(payload: Buffer): LinkAnswer | undefined {
  const answer = jsonOrText(payload.toString('utf8'));
  if (!isTree(answer) || typeof answer['code'] !== 'number') return undefined;
  const { code, data } = answer;
  return { code, data: typeof data === 'string' ? Buffer.from(data, 'base64').toString('utf8') : '{}' };
}
