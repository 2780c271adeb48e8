import { NEVER, of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { createMetrics } from '../../../../src/adapters/prometheus/metrics.ts';
import { jsonResponse } from '../../../../src/model/http.ts';
import type { HttpRoute } from '../../../../src/ports/http-route.ts';
import { httpAsk } from '../../../support/http-ask.ts';

import { ping, probe, start } from './serving.ts';

describe('who may ask', () => {
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

  it('refuses to listen beyond loopback without a token', async () => {
    await expect(start([ping], { host: '0.0.0.0' })).rejects.toMatchObject({
      code: 'config_invalid',
      cure: expect.stringContaining('LARKSPUR_ADMIN_TOKEN') as string,
    });
  });

  it('asks for the token whenever one is set, open doors aside', async () => {
    const port = await start([ping, probe, { ...ping, method: 'POST', handle: () => NEVER }], { token: 'letmein' });

    expect((await httpAsk(port, '/probe')).status).toBe(200);
    expect((await httpAsk(port, '/ping', bearer('letmein'))).status).toBe(200);
    for (const ask of [
      {},
      bearer('letmei'),
      bearer('letmein2'),
      bearer(''),
      { headers: { authorization: 'letmein' } },
    ]) {
      const answer = await httpAsk(port, '/ping', ask);
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer realm="larkspur"']);
      expect(answer.text).not.toContain('letmein');
    }
    expect((await httpAsk(port, '/ping', { method: 'POST', body: 'x'.repeat(100_000) })).status).toBe(401);
  });

  it.each([
    ['localhost', 200],
    ['127.0.0.1:9464', 200],
    ['[::1]:9464', 200],
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['localhost.evil.example:9464', 403],
    ['localhost@evil.example', 403],
  ])('without a token answers the host name %s with %i', async (host, status) => {
    const port = await start([ping, probe]);

    expect((await httpAsk(port, '/ping', { headers: { host } })).status).toBe(status);
    expect((await httpAsk(port, '/probe', { headers: { host } })).status).toBe(200);
  });

  it('without a token refuses pages of another origin', async () => {
    const port = await start([ping]);
    const from = (origin: string) => httpAsk(port, '/ping', { headers: { host: 'localhost:1', origin } });

    expect((await from('http://localhost:1')).status).toBe(200);
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1.evil.example']) {
      expect((await from(origin)).status).toBe(403);
    }
  });

  it('S004-02: tokens of clients open what is for clients, tell whose they are, and everything else is 401, counted', async () => {
    const whose: HttpRoute = {
      ...ping,
      path: '/whose',
      clients: true,
      handle: ({ client = 'the house' }) => of(jsonResponse(200, client)),
    };
    const clients = [
      { name: 'bot', token: 'token-of-the-bot' },
      { name: 'bill', token: 'token-of-billing' },
    ];
    const metrics = createMetrics({ processMetrics: false });
    const port = await start([ping, whose], { token: 'letmein', clients, metrics });
    const ask = async (path: string, token: string) => (await httpAsk(port, path, bearer(token))).text;

    expect(await ask('/whose', 'token-of-the-bot')).toBe('"bot"');
    expect(await ask('/whose', 'token-of-billing')).toBe('"bill"');
    expect(await ask('/whose', 'letmein')).toBe('"the house"');
    for (const token of ['token-of-nobody', ''])
      expect((await httpAsk(port, '/whose', bearer(token))).status).toBe(401);
    expect((await httpAsk(port, '/ping', bearer('token-of-the-bot'))).status).toBe(401);
    expect(await metrics.text()).toContain(
      'larkspur_http_requests_total{server="ingress",route="/whose",status="401"} 2',
    );
  });

  it('with clients and no token of the house, nobody gets in without a token, from this machine neither', async () => {
    const whose: HttpRoute = { ...ping, path: '/whose', clients: true };
    const port = await start([ping, whose], { clients: [{ name: 'bot', token: 'token-of-the-bot' }] });

    expect((await httpAsk(port, '/whose', bearer('token-of-the-bot'))).status).toBe(200);
    expect((await httpAsk(port, '/whose')).status).toBe(401);
    expect((await httpAsk(port, '/ping', bearer('token-of-the-bot'))).status).toBe(401);
  });
});
