import { randomUUID, X509Certificate } from 'node:crypto';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { Agent as SecureAgent, createServer as createSecureServer, request as secureRequest } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import { messageOf } from '../../model/errors.ts';
import type { FaultSubject, InjectedFault } from '../../model/injected-fault.ts';
import { defaultDelayMs, forgedAnswer } from '../../operators/fault/inject-fault.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

import { onFirstWord, tlsHello, tunnel } from './fault-tunnel.ts';

/** What the proxy is told. */
export interface FaultProxyOptions {
  /** 0: a free one. It listens on this machine alone: it asks nobody who they are. */
  readonly port: number;
  readonly faults: { decide(subject: FaultSubject): InjectedFault | undefined };
  /** Where requests for a host (`open.feishu.cn`, `localhost:8090`) go instead, as base URLs. */
  readonly origins: ReadonlyMap<string, string>;
  /** PEM of a certificate whose hosts are looked into; other hosts over TLS pass as they are. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly timers: Timers;
  readonly log: Logger;
}

/** A running proxy. */
export interface FaultProxy {
  readonly url: string;
  close(): Promise<void>;
}

const perHop = new Set(['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'upgrade']);

/**
 * An HTTP proxy that lets requests fail on purpose, by host and path, in front of a client that knows nothing of it: by `HTTP_PROXY`, by `CONNECT`,
 * or by a name that leads here (then the `Host` header tells where to). Whatever no rule is for goes on untouched. TLS is
 * opened only for hosts that the given certificate is for.
 */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const { port, tls, log, timers } = options;
  const agents = { http: new Agent({ keepAlive: true }), https: new SecureAgent({ keepAlive: true }) };
  const via = `1.1 larkspur-${randomUUID()}`;
  const sockets = new Set<Socket>();
  const serve = (isSecure: boolean) => (asked: IncomingMessage, reply: ServerResponse) =>
    pass(asked, reply, isSecure, { ...options, agents, via });
  const plain = createServer(serve(false));
  const certificate = tls === undefined ? undefined : new X509Certificate(tls.cert);
  const secure = tls === undefined ? undefined : createSecureServer(tls, serve(true));

  plain.on('connect', (asked: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    // Origins and rules are in small letters; a client may write a host as it likes.
    const authority = (asked.url ?? '').toLowerCase();
    if (!URL.canParse(`https://${authority}`)) {
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
      return;
    }
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    onFirstWord(socket, head, timers, (first) => {
      const host = authority.replace(/:\d+$/, '');
      if (first === tlsHello && secure !== undefined && certificate?.checkHost(host) !== undefined) {
        secure.emit('connection', socket);
      } else if (first !== undefined && first !== tlsHello) plain.emit('connection', socket);
      else tunnel(socket, authority, options);
    });
  });
  for (const server of [plain, secure]) {
    server?.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    // What is no HTTP at all ends; nobody else is hurt by it.
    server?.on('clientError', (_error, socket) => socket.destroy());
  }
  await new Promise<void>((resolve, reject) => {
    plain.once('error', reject);
    plain.listen(port, '127.0.0.1', resolve);
  });
  const bound = plain.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : port}`;
  log.info({ url }, 'the fault proxy listens');
  return {
    url,
    close: async () => {
      const closed = new Promise<void>((resolve) => plain.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      agents.http.destroy();
      agents.https.destroy();
      await closed;
    },
  };
}

type Passing = FaultProxyOptions & {
  readonly agents: { readonly http: Agent; readonly https: SecureAgent };
  /** The name of this proxy on all that it sends on. */
  readonly via: string;
};

function pass(asked: IncomingMessage, reply: ServerResponse, isSecure: boolean, options: Passing): void {
  const target = targetOf(asked, isSecure, options);
  if (target === undefined) {
    reply.writeHead(421, { 'content-type': 'text/plain' });
    reply.end('this is a fault proxy: name it as HTTP_PROXY, or ask for another host\n');
    return;
  }
  if (asked.headers.via?.includes(options.via) === true) {
    reply.writeHead(508, { 'content-type': 'text/plain' });
    reply.end('an --origin of this fault proxy leads back to it\n');
    return;
  }
  const { method = 'GET' } = asked;
  const { host, pathname: path } = target.asked;
  const rule = options.faults.decide({ upstream: undefined, host, method, path });
  if (rule !== undefined) options.log.info({ host, method, path, fault: rule.kind }, 'a request fails on purpose');
  switch (rule?.kind) {
    case undefined:
      forward(asked, reply, target.url, options);
      return;
    case '503':
    case '429': {
      const { status, headers, body } = forgedAnswer(rule, rule.kind);
      asked.resume();
      reply.writeHead(status, headers);
      reply.end(body);
      return;
    }
    case 'latency': {
      const { delayMs = defaultDelayMs } = rule;
      const cancel = options.timers.after(delayMs, () => forward(asked, reply, target.url, options));
      reply.once('close', cancel);
      return;
    }
    case 'timeout':
      if (rule.acts === true) forward(asked, reply, target.url, options, () => undefined);
      return;
    case 'reset': {
      // Only a bare TCP socket can be reset; one with TLS in it is cut without a farewell.
      const { socket } = asked;
      const reset = (): void => {
        if (socket instanceof TLSSocket) socket.destroy();
        else socket.resetAndDestroy();
      };
      if (rule.acts === true) forward(asked, reply, target.url, options, reset);
      else reset();
    }
  }
}

/** Sends it on. @param instead called when the answer is there, which the client then never sees */
function forward(
  asked: IncomingMessage,
  reply: ServerResponse,
  url: URL,
  { agents, log, via }: Passing,
  instead?: () => void,
): void {
  if (asked.destroyed && asked.socket.destroyed) return;
  const passedBy = [asked.headers.via, via].filter((name) => name !== undefined).join(', ');
  const headers = { ...endToEnd(asked.headers), via: passedBy };
  const { method = 'GET' } = asked;
  const sent =
    url.protocol === 'https:'
      ? secureRequest(url, { method, headers: { ...headers, host: url.host }, agent: agents.https })
      : request(url, { method, headers, agent: agents.http });
  sent.on('response', (answer) => {
    if (instead !== undefined) {
      answer.resume();
      instead();
      return;
    }
    reply.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    answer.on('error', () => reply.destroy());
    answer.pipe(reply);
  });
  sent.on('error', (error) => {
    log.warn({ host: url.host, error: messageOf(error) }, 'a host did not answer the fault proxy');
    if (reply.headersSent) reply.destroy();
    else {
      reply.writeHead(502, { 'content-type': 'text/plain' });
      reply.end(`the fault proxy got no answer from ${url.host}\n`);
    }
  });
  // Whoever no longer waits ends what was sent for it.
  reply.on('close', () => {
    if (!reply.writableFinished && instead === undefined) sent.destroy();
  });
  asked.pipe(sent);
}

/** Headers without those that are for this hop alone, by their nature or because `Connection` says so. */
function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').toLowerCase().split(/\s*,\s*/);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !perHop.has(name) && !named.includes(name)));
}

/** What was asked for, and where it goes. `undefined`: it is the proxy itself. */
function targetOf(asked: IncomingMessage, isSecure: boolean, { origins }: FaultProxyOptions) {
  const scheme = isSecure ? 'https' : 'http';
  const { url: text = '/' } = asked;
  const whole = /^https?:/i.test(text) ? text : `${scheme}://${asked.headers.host ?? ''}${text}`;
  if (!URL.canParse(whole)) return undefined;
  const wanted = new URL(whole);
  const origin = origins.get(wanted.host);
  const own = asked.socket.localPort;
  const isOwn = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(wanted.hostname) && Number(wanted.port) === own;
  if (origin === undefined && isOwn) return undefined;
  const base = origin === undefined ? wanted.origin : origin.replace(/\/$/, '');
  return { asked: wanted, url: new URL(`${base}${wanted.pathname}${wanted.search}`) };
}
