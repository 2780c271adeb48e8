import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';

import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { take, throwIfEmpty } from 'rxjs';

import { LarkspurError, messageOf } from '../../model/errors.ts';
import { type HttpRequest, type HttpResponse, problemResponse, urlOf } from '../../model/http.ts';
import { readTraceparent, traceHeaders } from '../../model/trace-context.ts';
import type { HttpRoute } from '../../ports/http-route.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Metrics } from '../../ports/metrics.ts';

import { combinedLine } from './combined-line.ts';
import { type ClientToken, createGuard, isLoopbackHost } from './guard.ts';
import { listenFailure, problemOf } from './problem-of.ts';
import { toHttpRequest } from './to-http-request.ts';
import { unpack } from './unpack.ts';

/** What a server needs and what may be set. */
export interface ServerOptions {
  /** Names the server in log lines, metrics and errors: `ingress`, `admin`. */
  readonly name: string;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly routes: readonly HttpRoute[];
  /** Bearer token that every route but the open ones asks for. Needed when the host is not a loopback one. */
  readonly token?: string | undefined;
  /** Tokens for the routes that are for clients. With any, these routes ask for one also on a loopback host. */
  readonly clients?: readonly ClientToken[];
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Largest request body in bytes. Default 1 MiB. */
  readonly maxBodyBytes?: number;
}

/** A server that listens. Who starts it closes it. */
export interface RunningServer {
  readonly host: string;
  readonly port: number;
  /** Takes no further connection, lets requests under way end, then resolves. */
  close(): Promise<void>;
}

const latencyBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

// Connections that wait to be taken in; the system may allow fewer. Node's 511 are too few for a crowd that comes at once: the
// kernel answers the others by cookie, and resets those whose cookie it cannot read later.
const backlog = 4_096;

/**
 * Starts an HTTP server (fastify) for a set of doors.
 *
 * One access line and one metric per request, by route pattern and never by raw path; every error is
 * `application/problem+json`; `x-request-id` is taken over or made, and answered; bodies may come in gzip. When a client goes away its handler is
 * unsubscribed.
 *
 * @throws {LarkspurError} `config_invalid` when a host beyond loopback has no token or cannot be bound, `port_in_use`
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { name, host, port, token, clients = [] } = options;
  if (token === undefined && clients.length === 0 && !isLoopbackHost(host)) {
    throw new LarkspurError('config_invalid', `${name} would listen on ${host}:${port} without a token`, {
      cure: 'Set LARKSPUR_ADMIN_TOKEN, or listen on 127.0.0.1 only.',
    });
  }
  const server = build(options);
  try {
    await server.listen({ host, port, backlog });
  } catch (error) {
    await server.close();
    throw listenFailure(error, options);
  }
  const address = server.server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  options.log.info({ server: name, host, port: bound }, `${name} listens on ${urlOf({ host, port: bound })}`);
  return {
    host,
    port: bound,
    close: async () => {
      await server.close();
    },
  };
}

function build({
  name,
  token,
  clients = [],
  routes,
  log,
  metrics,
  maxBodyBytes = 1_048_576,
}: ServerOptions): FastifyInstance {
  const server = fastify({
    logger: false,
    bodyLimit: maxBodyBytes,
    genReqId: (request) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID();
    },
    // A client that never ends its request holds a connection for so long at most.
    requestTimeout: 30_000,
    // Ids are up to 200 characters, percent-encoded up to three times as many.
    routerOptions: { maxParamLength: 1_024 },
    frameworkErrors: (error, request, reply) => {
      reply.hijack();
      const { status, headers, body } = problemOf(error, request.id);
      reply.raw.writeHead(status, { ...headers, 'x-request-id': request.id });
      reply.raw.end(body);
    },
    clientErrorHandler: refuseConnection,
  });
  const forClients = createGuard(token, clients);
  // With clients and no token of the house, what is not for clients opens to nobody.
  const forOthers = createGuard(token ?? (clients.length > 0 ? randomUUID() : undefined));
  const clientOf = new WeakMap<FastifyRequest, string>();
  const quiet = new Set(routes.filter((route) => route.quiet).map((route) => route.path));

  // Doors get the raw bytes: signatures are made over them, and JSON is parsed where its mistakes can be named.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body: Buffer, done) =>
    unpack(request.headers['content-encoding'], body, request.routeOptions.bodyLimit, done),
  );

  const requests = metrics.counter('larkspur_http_requests_total', 'Requests answered', ['server', 'route', 'status']);
  const latency = metrics.histogram(
    'larkspur_http_request_seconds',
    'Time to answer',
    ['server', 'route'],
    latencyBuckets,
  );
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    requests.add({ server: name, route, status: String(reply.statusCode) });
    latency.observe({ server: name, route }, reply.elapsedTime / 1000);
    const traceId = readTraceparent(traceOf(request, reply))?.traceId;
    const fields = {
      server: name,
      method: request.method,
      route,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      requestId: request.id,
      from: request.ip,
      ...(traceId === undefined ? {} : { traceId }),
      ...(name === 'ingress' ? { combined: combinedOf(request, reply, clientOf.get(request)) } : {}),
    };
    if (quiet.has(route)) log.debug(fields, 'request');
    else log.info(fields, 'request');
    done();
  });
  server.setErrorHandler((error, request, reply) => {
    const response = problemOf(error, request.id);
    if (response.status >= 500) log.error({ server: name, requestId: request.id, error }, 'request failed');
    return send(reply, response);
  });
  server.setNotFoundHandler((request, reply) => {
    const detail = `There is no ${request.method} ${request.url.split('?')[0] ?? ''} here.`;
    return send(reply, problemResponse({ status: 404, code: 'not_found', title: 'Not found', detail }));
  });

  for (const route of routes) {
    server.route({
      method: route.method,
      url: route.path,
      ...(route.maxBodyBytes === undefined ? {} : { bodyLimit: route.maxBodyBytes }),
      // Before the body is read: who may not ask sends no megabytes.
      ...(route.open
        ? {}
        : {
            preParsing: (request: FastifyRequest, reply: FastifyReply, _payload: unknown, done: () => void) => {
              const judged = (route.clients === true ? forClients : forOthers)(request.headers);
              if ('refusal' in judged) {
                void send(reply, judged.refusal);
                return;
              }
              if (judged.client !== undefined) clientOf.set(request, judged.client);
              done();
            },
          }),
      handler: (request, reply) => answer(route, toHttpRequest(request, clientOf.get(request)), reply),
    });
  }
  return server;
}

/** The span of the request as its answer names it, else its parent. */
function traceOf(request: FastifyRequest, reply: FastifyReply): string | undefined {
  const text = reply.getHeader(traceHeaders.response) ?? request.headers[traceHeaders.parent];
  return typeof text === 'string' ? text : undefined;
}

function combinedOf(request: FastifyRequest, reply: FastifyReply, client: string | undefined): string {
  const { method, ip: from, headers, raw } = request;
  const bytes = Number(reply.getHeader('content-length') ?? NaN);
  return combinedLine({
    ...{ from, client, method, httpVersion: raw.httpVersion, status: reply.statusCode, wallMs: Date.now() },
    ...{ route: request.routeOptions.url ?? 'none', referer: headers.referer, agent: headers['user-agent'] },
    bytes: Number.isNaN(bytes) ? undefined : bytes,
  });
}

function answer(route: HttpRoute, request: HttpRequest, reply: FastifyReply): FastifyReply {
  const answer$ = route.handle(request).pipe(
    throwIfEmpty(() => new Error(`${route.method} ${route.path} ended without an answer`)),
    take(1),
  );
  const subscription = answer$.subscribe({
    next: (response) => void send(reply, response),
    error: (error: unknown) => void reply.send(error instanceof Error ? error : new Error(messageOf(error))),
  });
  reply.raw.once('close', () => subscription.unsubscribe());
  return reply;
}

function send(reply: FastifyReply, { status, headers, body }: HttpResponse): FastifyReply {
  return reply.code(status).headers(headers).send(body);
}

/** Answers what is not HTTP at all, as far as the socket still takes an answer. */
function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = problemOf(error);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = Buffer.byteLength(body);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\n${lines.join('')}content-length: ${length}\r\nconnection: close\r\n\r\n${body}`,
  );
}
