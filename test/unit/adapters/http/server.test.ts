import { connect } from 'node:net';

import { EMPTY, Observable, of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { createMetrics } from '../../../../src/adapters/prometheus/metrics.ts';
import { LarkspurError } from '../../../../src/model/errors.ts';
import { type HttpRequest, jsonResponse } from '../../../../src/model/http.ts';
import type { HttpRoute } from '../../../../src/ports/http-route.ts';
import type { LogFields } from '../../../../src/ports/logger.ts';
import { httpAsk } from '../../../support/http-ask.ts';
import { noLogger } from '../../../support/silent.ts';

import { closeAll, ping, probe, start } from './serving.ts';

function deferred() {
  let resolve: (value: unknown) => void = () => undefined;
  const promise = new Promise((take) => (resolve = take));
  return { promise, resolve };
}

const echo: HttpRoute = {
  method: 'POST',
  path: '/echo/:name',
  handle: ({ params, query, headers, body }: HttpRequest) =>
    of(jsonResponse(200, { params, query, requestId: headers['x-request-id'], bytes: body.toString('hex') })),
};
// Anything may be thrown by a bug, also what is no Error.
const failing = (error: unknown): HttpRoute => {
  const route: HttpRoute = { ...ping, handle: () => new Observable((subscriber) => subscriber.error(error)) };
  return route;
};

describe('startServer', () => {
  it('hands a door the decoded parameters, the query and the raw bytes, whatever the content type', async () => {
    const port = await start([echo]);
    const body = Buffer.from([0, 255, 10]);

    for (const type of ['application/json', 'text/plain', 'x/y']) {
      const answer = await httpAsk(port, `/echo/a%2Fb?x=1&x=2`, {
        method: 'POST',
        body,
        headers: { 'content-type': type },
      });
      expect(answer.json()).toMatchObject({ params: { name: 'a/b' }, query: { x: '2' }, bytes: '00ff0a' });
    }
  });

  it('takes over a request id, makes one where it is missing or odd, and answers it', async () => {
    const port = await start([echo]);
    const ask = (id: string) => httpAsk(port, '/echo/x', { method: 'POST', headers: { 'x-request-id': id } });

    const given = await ask('abc-1');
    expect([given.headers['x-request-id'], given.json()]).toEqual([
      'abc-1',
      expect.objectContaining({ requestId: 'abc-1' }),
    ]);
    const odd = await ask('a b');
    expect(odd.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(odd.json()).toMatchObject({ requestId: odd.headers['x-request-id'] });
  });

  it.each([
    ['an unknown address', '/nowhere', 404, 'not_found'],
    ['a broken percent-encoding', '/echo/%zz', 400, 'bad_request'],
  ])('answers %s as a problem', async (_, path, status, code) => {
    const port = await start([echo]);
    const answer = await httpAsk(port, path, { method: 'POST' });

    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.json()).toMatchObject({ status, code, type: `urn:larkspur:problem:${code}` });
  });

  it('refuses a body over the limit as a problem, announced or not', async () => {
    const port = await start([echo], { maxBodyBytes: 10 });
    const body = 'x'.repeat(11);

    const announced = await httpAsk(port, '/echo/x', { method: 'POST', body });
    const chunked = await httpAsk(port, '/echo/x', {
      method: 'POST',
      body,
      headers: { 'transfer-encoding': 'chunked' },
    });
    for (const answer of [announced, chunked]) {
      expect([answer.status, answer.json()]).toEqual([413, expect.objectContaining({ code: 'record_too_large' })]);
    }
  });

  it('answers bytes that are not HTTP with a problem and closes', async () => {
    const port = await start([echo]);
    const text = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('NONSENSE\r\n\r\n'));
      let seen = '';
      socket.on('data', (chunk) => (seen += chunk.toString()));
      socket.on('close', () => resolve(seen));
    });

    expect(text).toMatch(/^HTTP\/1\.1 400/);
    expect(text).toContain('"code":"bad_request"');
  });

  it('tells the client a known failure with its cure, and nothing about a bug', async () => {
    const away = new LarkspurError('kafka_unavailable', 'Kafka is away', { cure: 'Start it.' });
    const known = await httpAsk(await start([failing(away)]), '/ping');
    expect([known.status, known.headers['retry-after'], known.json()]).toEqual([
      503,
      '5',
      expect.objectContaining({ code: 'kafka_unavailable', detail: 'Kafka is away. Start it.' }),
    ]);

    for (const error of [new Error('secret inside'), 'a string', new LarkspurError('internal', 'secret inside')]) {
      const bug = await httpAsk(await start([failing(error)]), '/ping');
      expect([bug.status, bug.json()]).toEqual([500, expect.objectContaining({ code: 'internal' })]);
      expect(bug.text).not.toContain('secret inside');
    }
  });

  it('treats a door that ends without an answer as a bug', async () => {
    const port = await start([{ ...ping, handle: () => EMPTY }]);

    expect((await httpAsk(port, '/ping')).status).toBe(500);
  });

  it('unsubscribes the door when its client goes away', async () => {
    const seen = { subscribed: deferred(), gone: deferred() };
    const port = await start([
      {
        ...ping,
        handle: () =>
          new Observable(() => {
            seen.subscribed.resolve(1);
            return () => seen.gone.resolve(1);
          }),
      },
    ]);
    const leaving = new AbortController();
    const asking = httpAsk(port, '/ping', { signal: leaving.signal }).catch((error: unknown) => error);
    await seen.subscribed.promise;
    leaving.abort();

    await expect(seen.gone.promise).resolves.toBe(1);
    expect(await asking).toBeInstanceOf(Error);
  });

  it('writes one access line per request, by pattern, without query or body; probes are worth debug only', async () => {
    const lines: [string, LogFields][] = [];
    const log = {
      ...noLogger,
      info: (fields: LogFields) => lines.push(['info', fields]),
      debug: (fields: LogFields) => lines.push(['debug', fields]),
    };
    const metrics = createMetrics({ processMetrics: false });
    const port = await start([echo, probe], { log, metrics });
    lines.length = 0;
    await httpAsk(port, '/echo/somebody?access_token=hush', { method: 'POST', body: 'hush' });
    await httpAsk(port, '/probe');
    await httpAsk(port, '/somewhere/else');

    expect(lines.map(([level, { route, status }]) => [level, route, status])).toEqual([
      ['info', '/echo/:name', 200],
      ['debug', '/probe', 200],
      ['info', 'none', 404],
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/hush|somebody/);
    expect(await metrics.text()).toContain(
      'larkspur_http_requests_total{server="ingress",route="/echo/:name",status="200"} 1',
    );
  });

  it('says that a port is taken, by whom to find out, and what to set', async () => {
    const port = await start([ping]);

    const failure = await start([ping], { port }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LarkspurError);
    expect(failure).toMatchObject({
      code: 'port_in_use',
      cure: expect.stringMatching(/ss -ltnp.*listen\.ingress/) as string,
    });
  });

  it('says that an address is not one of this machine', async () => {
    await expect(start([ping], { host: '203.0.113.7', token: 'x' })).rejects.toMatchObject({ code: 'config_invalid' });
  });

  it('ends requests under way before it is closed', async () => {
    const release = deferred();
    const started = deferred();
    const port = await start([
      {
        ...ping,
        handle: () =>
          new Observable((subscriber) => {
            started.resolve(1);
            void release.promise.then(() => subscriber.next(jsonResponse(200, { late: true })));
          }),
      },
    ]);
    const asking = httpAsk(port, '/ping');
    await started.promise;
    const closed = closeAll();
    release.resolve(1);

    expect((await asking).json()).toEqual({ late: true });
    await closed;
    await expect(httpAsk(port, '/ping')).rejects.toThrow(/ECONNREFUSED/);
  });
});
