import { createHash } from 'node:crypto';

import { map, of } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';

import { openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import { AuthCalls } from '../../../../src/adapters/feishu/auth-calls.ts';
import { FeishuConsent } from '../../../../src/adapters/feishu/consent.ts';
import { userKey, UserTokens, type UserTokensOptions } from '../../../../src/adapters/feishu/user-tokens.ts';
import { type RunningServer, startServer } from '../../../../src/adapters/http/server.ts';
import { SealedVault, SecretBox } from '../../../../src/adapters/system/sealed-vault.ts';
import { oauthRoutes } from '../../../../src/ingress/oauth/oauth-doors.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import type { Upstream, UpstreamRequest } from '../../../../src/ports/upstream.ts';
import { collect } from '../../../support/collect.ts';
import { httpAsk } from '../../../support/http-ask.ts';
import { RememberingLogger } from '../../../support/remembering-logger.ts';
import { noMetrics } from '../../../support/silent.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const running: RunningServer[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

const exchange = (body: unknown, status = 200): Exchange => ({
  ...{ kind: 'answered', status, headers: {} },
  body: Buffer.from(JSON.stringify(body)),
});
const tokens = {
  ...{ code: 0, access_token: 'u-secret', expires_in: 7_200 },
  ...{ refresh_token: 'ur-secret', refresh_token_expires_in: 604_800 },
};

/** The doors of one app over HTTP, with a platform that answers as told. */
async function doors(platform: (request: UpstreamRequest) => Exchange = good) {
  const time = new VirtualTime();
  const log = new RememberingLogger();
  const store = openEmbedded({ data: 'memory', clock: time, timers: time, logger: log, topics: [] });
  const vault = new SealedVault(store.entries, new SecretBox(['k'.repeat(32)]));
  const asked: UpstreamRequest[] = [];
  const upstream: Upstream = {
    send: (request) => {
      asked.push(request);
      return of(request).pipe(map(platform));
    },
  };
  const auth = new AuthCalls({ upstream, clock: time, pathPrefix: '', timeoutMs: 5_000 });
  const users = new UserTokens({
    ...{ auth, vault, clock: time, timers: time },
    onRevoked() {
      return of(true);
    },
  } satisfies UserTokensOptions);
  const oauth = { redirectUri: 'https://larkspur.example/oauth/cli_a/callback', scopes: ['im:message'] };
  const apps = [
    { id: 'cli_a', secret: 'app-secret', oauth: { ...oauth, accountsUrl: 'https://accounts.feishu.cn' } },
    { id: 'cli_b', secret: 'other' },
  ];
  const consent = new FeishuConsent(apps, auth, users);
  let texts = 0;
  const routes = oauthRoutes({
    consent,
    vault,
    clock: time,
    timers: time,
    secretText: () => `secret-text-${texts++}-${'x'.repeat(30)}`,
  });
  const server = await startServer({ name: 'ingress', host: '127.0.0.1', port: 0, routes, log, metrics: noMetrics });
  running.push(server);
  const get = (path: string, headers: Record<string, string> = {}) => httpAsk(server.port, path, { headers });
  const begin = async () => {
    const answer = await get('/oauth/cli_a/start');
    const page = new URL(answer.headers['location'] ?? '');
    const [cookie = ''] = String(answer.headers['set-cookie']).split(';');
    return { answer, page, cookie, state: page.searchParams.get('state') ?? '' };
  };
  const keptFor = (openId: string) => {
    const [entry] = collect(vault.read(userKey('cli_a', openId))).values;
    return JSON.parse(entry?.text ?? 'null') as unknown;
  };
  return { time, log, asked, get, begin, keptFor, consent, routes };
}

function good({ path }: UpstreamRequest): Exchange {
  return exchange(path.endsWith('user_info') ? { code: 0, data: { open_id: 'ou_1' } } : tokens);
}

describe('the consent of a user', () => {
  it('leads to the page of Feishu with state, PKCE and offline_access, and back to tokens that are kept', async () => {
    const world = await doors();
    const { answer, page, cookie, state } = await world.begin();

    expect(answer.status).toBe(302);
    expect(page.origin + page.pathname).toBe('https://accounts.feishu.cn/open-apis/authen/v1/authorize');
    expect(Object.fromEntries(page.searchParams)).toMatchObject({
      ...{ client_id: 'cli_a', scope: 'im:message offline_access', code_challenge_method: 'S256' },
      redirect_uri: 'https://larkspur.example/oauth/cli_a/callback',
    });
    expect(String(answer.headers['set-cookie'])).toMatch(/HttpOnly; SameSite=Lax$/);

    const back = await world.get(`/oauth/cli_a/callback?code=c1&state=${state}`, { cookie });
    expect([back.status, back.json()]).toEqual([200, { app: 'cli_a', open_id: 'ou_1' }]);
    const sent = JSON.parse(String(world.asked[0]?.body)) as Record<string, string>;
    expect(sent).toMatchObject({ grant_type: 'authorization_code', code: 'c1', client_id: 'cli_a' });
    expect(
      createHash('sha256')
        .update(sent['code_verifier'] ?? '')
        .digest('base64url'),
    ).toBe(page.searchParams.get('code_challenge'));
    expect(world.keptFor('ou_1')).toMatchObject({ access: 'u-secret', refresh: 'ur-secret' });
    expect(world.log.text + back.text).not.toMatch(/u-secret|ur-secret|app-secret/);
  });

  it('serves a state once, within ten minutes, and only in the browser that began', async () => {
    const world = await doors();
    const { cookie, state } = await world.begin();
    const back = (headers: Record<string, string>, app = 'cli_a') =>
      world.get(`/oauth/${app}/callback?code=c1&state=${state}`, headers);

    expect((await back({})).status).toBe(400);
    expect((await back({ cookie: 'larkspur_oauth=secret-text-9-xxxxxxxxxxxx' })).status).toBe(400);
    expect((await back({ cookie }, 'cli_b')).status).toBe(400);
    expect((await back({ cookie })).status).toBe(200);
    expect((await back({ cookie })).status).toBe(400);
    const late = await world.begin();
    world.time.advance(600_001);
    expect((await world.get(`/oauth/cli_a/callback?code=c&state=${late.state}`, { cookie: late.cookie })).status).toBe(
      400,
    );
    expect(world.asked).toHaveLength(2);
  });

  it('of two that come back with one state at once, one goes on', async () => {
    const world = await doors();
    const { cookie, state } = await world.begin();
    const answers = await Promise.all(
      [1, 2, 3].map(() => world.get(`/oauth/cli_a/callback?code=c1&state=${state}`, { cookie })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
  });

  it('says when the user or the platform refused, and keeps nothing', async () => {
    const refusing = await doors(() => exchange({ code: 20_003, error: 'invalid_grant' }, 400));
    const begun = await refusing.begin();
    const back = await refusing.get(`/oauth/cli_a/callback?code=c1&state=${begun.state}`, { cookie: begun.cookie });
    expect([back.status, back.json()]).toMatchObject([403, { code: 'forbidden' }]);
    expect(refusing.keptFor('ou_1')).toBeNull();

    const denied = await refusing.begin();
    expect(
      (await refusing.get(`/oauth/cli_a/callback?error=access_denied&state=${denied.state}`, { cookie: denied.cookie }))
        .status,
    ).toBe(403);
  });

  it('that was taken back before it was given anew goes on, however late the platform says so', async () => {
    const world = await doors();
    const consentOf = async () => {
      const { cookie, state } = await world.begin();
      await world.get(`/oauth/cli_a/callback?code=c1&state=${state}`, { cookie });
    };
    await consentOf();
    world.time.advance(60_000);
    const takenBackAtMs = world.time.wall();
    world.time.advance(1_000);
    await consentOf();
    world.time.advance(21_600_000);
    collect(world.consent.revoke('cli_a', 'ou_1', takenBackAtMs));
    expect(world.keptFor('ou_1')).toMatchObject({ access: 'u-secret' });

    collect(world.consent.revoke('cli_a', 'ou_1', world.time.wall()));
    expect(world.keptFor('ou_1')).toMatchObject({ access: '', ended: { reason: 'revoked_by_platform', told: true } });
  });

  it('may be begun 10,000 times in ten minutes: who comes then is told to come later', async () => {
    const world = await doors();
    const start = world.routes[0]!;
    const ask = () =>
      collect(start.handle({ params: { app: 'cli_a' }, query: {}, headers: {}, body: Buffer.alloc(0) }));
    const statuses = Array.from({ length: 10_001 }, () => ask().values[0]?.status);
    expect(statuses.filter((status) => status === 302)).toHaveLength(10_000);
    expect((await world.get('/oauth/cli_a/start')).status).toBe(503);
    world.time.advance(600_000);
    expect((await world.get('/oauth/cli_a/start')).status).toBe(302);
  });

  it('is offered by no app that does not ask for it', async () => {
    const world = await doors();
    expect((await world.get('/oauth/cli_b/start')).status).toBe(404);
    expect((await world.get('/oauth/nobody/start')).status).toBe(404);
  });
});
