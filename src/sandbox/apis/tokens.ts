import { type Answer, failure } from '../http/answer.ts';
import type { World } from '../world.ts';

const refusals = { 10003: 'invalid param', 10014: 'app secret invalid' } as const;

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
