import { type Answer, failure } from '../http/answer.ts';
import type { World } from '../world.ts';

const refusals = {
  10003: 'invalid param',
  10012: 'app ticket invalid',
  10013: 'tenant access denied',
  10014: 'app secret invalid',
} as const;

/** Token endpoints of self-built apps: flat bodies, failures at HTTP 200. */
export function tokenAnswer(world: World, kind: 'tenant' | 'app', body: unknown): Answer {
  const { app_id: id, app_secret: secret } = (body ?? {}) as { app_id?: unknown; app_secret?: unknown };
  const issued = world.tokens.issue(id, secret);
  if (!issued.ok) return failure(200, issued.code, refusals[issued.code]);
  const { token } = issued.grant;
  const expire = world.tokens.secondsLeft(issued.grant);
  const common = { code: 0, msg: 'ok', tenant_access_token: token, expire };
  return { status: 200, body: kind === 'tenant' ? common : { ...common, app_access_token: token } };
}

/** Token endpoints of store apps. */
export function storeTokenAnswer(world: World, kind: 'tenant' | 'app', body: unknown): Answer {
  const asked = (body ?? {}) as Readonly<Record<string, unknown>>;
  const grant =
    kind === 'app'
      ? world.storeApps.appToken(asked['app_id'], asked['app_secret'], asked['app_ticket'])
      : world.storeApps.tenantToken(asked['app_access_token'], asked['tenant_key']);
  if (typeof grant === 'number') return failure(200, grant, refusals[grant]);
  const expire = world.tokens.secondsLeft(grant);
  return { status: 200, body: { code: 0, msg: 'ok', [`${kind}_access_token`]: grant.token, expire } };
}

/** A store app asks for its ticket, which comes as an event. */
export function resendAnswer(world: World, body: unknown): Answer {
  const { app_id: app, app_secret: secret } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (!world.tokens.admits(app, secret)) return failure(200, 10003, refusals[10003]);
  world.storeApps.resend(app);
  return { status: 200, body: { code: 0, msg: 'ok' } };
}
