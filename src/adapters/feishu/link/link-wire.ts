import { Agent, type Dispatcher, request, WebSocket } from 'undici';

import { isTree } from '../../../model/schema-words.ts';

/** How the platform wants a connection to be kept, milliseconds. */
export interface LinkTiming {
  readonly pingMs: number;
  /** Longest time between two tries. */
  readonly retryMs: number;
  /** Within so long everybody who lost a connection at the same moment comes back. */
  readonly spreadMs: number;
}

/** What came of asking where to connect. */
export type Endpoint =
  | { readonly kind: 'there'; readonly url: string; readonly timing: Partial<LinkTiming> }
  /** `code` of the platform; `undefined`: it did not answer. */
  | { readonly kind: 'refused'; readonly code: number | undefined; readonly message: string };

/** An open connection. */
export interface LinkSocket {
  send(bytes: Buffer): void;
  /** Ends it; nothing is told after that. */
  close(): void;
}

/** Hears of a connection. */
export interface LinkListener {
  opened(): void;
  received(bytes: Buffer): void;
  /** Also when it never opened. */
  closed(): void;
}

/** The way to the platform. */
export interface LinkWire {
  /** Rejects never. */
  endpoint(): Promise<Endpoint>;
  open(url: string, listener: LinkListener): LinkSocket;
  /** Ends what is left of all connections. */
  close(): Promise<void>;
}

const endpointPath = '/callback/ws/endpoint';
const endpointTimeoutMs = 15_000;
const connectTimeoutMs = 10_000;

/** The wire of one app over HTTP and WebSocket. @param baseUrl of the platform, without a slash at the end */
export function linkWire(baseUrl: string, app: { readonly id: string; readonly secret: string }): LinkWire {
  const agent: Dispatcher = new Agent({ connect: { timeout: connectTimeoutMs } });
  return {
    endpoint: async () => {
      try {
        const { body } = await request(baseUrl + endpointPath, {
          ...{ method: 'POST', dispatcher: agent, signal: AbortSignal.timeout(endpointTimeoutMs) },
          headers: { 'content-type': 'application/json', locale: 'zh' },
          body: JSON.stringify({ AppID: app.id, AppSecret: app.secret }),
        });
        return endpointIn(await body.json(), baseUrl.startsWith('https:'));
      } catch {
        return { kind: 'refused', code: undefined, message: 'no answer' };
      }
    },
    open(url, listener) {
      const socket = new WebSocket(url, { dispatcher: agent });
      socket.binaryType = 'arraybuffer';
      let over = false;
      socket.addEventListener('open', () => {
        if (!over) listener.opened();
      });
      socket.addEventListener('message', ({ data }: { readonly data: unknown }) => {
        if (!over && data instanceof ArrayBuffer) listener.received(Buffer.from(data));
      });
      // An error is followed by a close.
      socket.addEventListener('error', () => undefined);
      socket.addEventListener('close', () => {
        if (!over) listener.closed();
        over = true;
      });
      return {
        send: (bytes) => {
          if (socket.readyState === WebSocket.OPEN) socket.send(bytes);
        },
        close: () => {
          over = true;
          socket.close();
        },
      };
    },
    close: () => agent.destroy(),
  };
}

function endpointIn(answer: unknown, secure: boolean): Endpoint {
  const { code, msg, data } = isTree(answer) ? answer : {};
  const { URL: url, ClientConfig: config } = isTree(data) ? data : {};
  const usable = typeof url === 'string' && URL.canParse(url) && (secure ? /^wss:[^#]+$/ : /^wss?:[^#]+$/).test(url);
  if (code !== 0 || !usable) {
    const message = typeof msg === 'string' ? msg.slice(0, 200) : 'no address came';
    return { kind: 'refused', code: typeof code === 'number' ? code : undefined, message };
  }
  return { kind: 'there', url, timing: timingIn(config) };
}

/** What a `ClientConfig` says, in seconds there; of an endpoint or of a pong. */
export function timingIn(config: unknown): Partial<LinkTiming> {
  const { PingInterval, ReconnectInterval, ReconnectNonce } = isTree(config) ? config : {};
  const ms = (value: unknown): number | undefined =>
    typeof value === 'number' && value > 0 && value <= 3_600 ? value * 1_000 : undefined;
  const timing = { pingMs: ms(PingInterval), retryMs: ms(ReconnectInterval), spreadMs: ms(ReconnectNonce) };
  return Object.fromEntries(Object.entries(timing).filter(([, value]) => value !== undefined));
}
