import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A platform that repeats whatever it is told, in the texts and bodies of its answers. */
export interface LeakyPlatform {
  readonly url: string;
  /** Every token that it has given. */
  readonly tokens: readonly string[];
  close(): void;
}

/**
 * Speaks as much of Feishu as a call needs. An app whose id ends in 9 gets no token, and a message whose `content` holds
 * `refuse` is refused, both with texts that name secret, token and body.
 */
export async function openLeakyPlatform(): Promise<LeakyPlatform> {
  const tokens: string[] = [];
  const secretOf = new Map<string, string>();
  /** The answer to a request: its status and its body. */
  const answerTo = (path: string, authorization: string, body: string): readonly [number, object] => {
    if (path.startsWith('/open-apis/auth/')) {
      const { app_id: app, app_secret: secret } = JSON.parse(body) as { app_id: string; app_secret: string };
      if (app.endsWith('9')) return [400, { code: 10_014, msg: `app_secret ${secret} of ${app} is wrong` }];
      const token = `t-${randomBytes(16).toString('hex')}`;
      tokens.push(token);
      secretOf.set(token, secret);
      return [200, { code: 0, msg: 'ok', tenant_access_token: token, app_access_token: token, expire: 7_200 }];
    }
    const token = authorization.slice('Bearer '.length);
    const { content } = JSON.parse(body) as { content: string };
    const { name } = JSON.parse(content) as { name: string };
    if (!content.includes('refuse')) {
      return [200, { code: 0, msg: 'ok', data: { user: { name, en_name: name }, headers: { authorization } } }];
    }
    const msg = `${name} is unknown to ${authorization}, secret: ${secretOf.get(token) ?? ''}`;
    return [400, { code: 230_001, msg, data: { token } }];
  };
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const [status, answer] = answerTo(request.url ?? '', request.headers.authorization ?? '', body);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tokens,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}
