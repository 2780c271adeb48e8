import type { FastifyInstance } from 'fastify';

import { bitableEndpoints } from '../apis/bitable.ts';
import { hookAnswer } from '../apis/bots.ts';
import { contactEndpoints } from '../apis/contact.ts';
import { echo } from '../apis/echo.ts';
import { fileEndpoints } from '../apis/files.ts';
import { messageEndpoints } from '../apis/messages.ts';
import { authorizePage, userInfoAnswer, userTokenAnswer } from '../apis/oauth.ts';
import { resendAnswer, storeTokenAnswer, tokenAnswer } from '../apis/tokens.ts';
import type { World } from '../world.ts';

import { failure } from './answer.ts';
import { serveApi, serveAside, serveOpen, unreadable } from './gate.ts';

/** Puts everything a client of Feishu can ask on the server. */
export function apiRoutes(server: FastifyInstance, world: World): void {
  readBodies(server);
  for (const kind of ['tenant', 'app'] as const) {
    server.post(`/open-apis/auth/v3/${kind}_access_token/internal`, (request, reply) =>
      serveAside(world, () => tokenAnswer(world, kind, request.body), request, reply),
    );
  }
  for (const kind of ['app', 'tenant'] as const) {
    server.post(`/open-apis/auth/v3/${kind}_access_token`, (request, reply) =>
      serveAside(world, () => storeTokenAnswer(world, kind, request.body), request, reply),
    );
  }
  server.post('/open-apis/auth/v3/app_ticket/resend', (request, reply) =>
    serveAside(world, () => resendAnswer(world, request.body), request, reply),
  );
  server.get('/open-apis/authen/v1/authorize', (request, reply) =>
    serveAside(world, () => authorizePage(world, request.query as Record<string, unknown>), request, reply),
  );
  server.post('/open-apis/authen/v2/oauth/token', (request, reply) =>
    serveAside(world, () => userTokenAnswer(world, request.body), request, reply),
  );
  server.get('/open-apis/authen/v1/user_info', (request, reply) =>
    serveAside(world, () => userInfoAnswer(world, request.headers.authorization), request, reply),
  );
  server.post('/open-apis/bot/v2/hook/:bot', (request, reply) =>
    serveAside(world, () => hookAnswer(world, (request.params as { bot: string }).bot, request.body), request, reply),
  );
  const endpoints = [...messageEndpoints(world), ...contactEndpoints(), ...bitableEndpoints(), ...fileEndpoints(world)];
  for (const endpoint of endpoints) {
    const { method, url } = endpoint;
    server.route({ method, url, handler: (request, reply) => serveApi(world, endpoint, request, reply) });
  }
  for (const url of ['/echo', '/echo/*']) {
    server.all(url, (request, reply) => {
      const path = request.url.replace(/\?.*$/, '');
      serveOpen(world, 'echo', (call) => echo(request.method, path, call), request, reply);
    });
  }
  server.get('/health', (request, reply) =>
    serveAside(world, () => ({ status: 200, body: { status: 'ok' } }), request, reply),
  );
  server.setNotFoundHandler((request, reply) =>
    serveAside(world, () => failure(404, 99991201, 'the path or the method is unknown'), request, reply),
  );
}

/** JSON is parsed leniently, so that a broken body meets faults, token check and tier like any other. */
function readBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (_, text, done) => {
    done(null, parsed(text as string));
  });
  // People steer with `curl -d`, which calls JSON a form.
  const steers = ({ url }: { readonly url: string }): boolean => url.startsWith('/_sandbox/');
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes, done) =>
    done(null, steers(request) ? parsed(bytes.toString()) : bytes),
  );
}

function parsed(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return unreadable;
  }
}
