import { type Answer, failure, ok } from '../http/answer.ts';
import { refreshLifeMs } from '../state/consents.ts';
import type { World } from '../world.ts';

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The page of consent: whoever opens it consents at once, as `?user=`, by default `ou_1`. */
export function authorizePage(world: World, query: Readonly<Record<string, unknown>>): Answer {
  const { client_id: app, redirect_uri: redirectUri, state, code_challenge: challenge, user } = query;
  if (typeof redirectUri !== 'string' || !URL.canParse(redirectUri))
    return failure(400, 20_029, 'redirect_uri invalid');
  const code = world.consents.give({
    ...{ app: text(app), openId: text(user) || 'ou_1', redirectUri },
    challenge: typeof challenge === 'string' ? challenge : undefined,
  });
  const back = new URL(redirectUri);
  back.searchParams.set('code', code);
  back.searchParams.set('state', text(state));
  return { status: 302, headers: { location: back.href }, body: '' };
}

/** The token endpoint of users, v2: flat bodies, failures at HTTP 400. */
export function userTokenAnswer(world: World, body: unknown): Answer {
  const asked = (body ?? {}) as Readonly<Record<string, unknown>>;
  const { grant_type: kind, client_id: app, client_secret: secret } = asked;
  if (!world.tokens.admits(app, secret)) return refusal(20_002, 'invalid_client');
  const pair =
    kind === 'authorization_code'
      ? world.consents.exchange(text(app), asked['code'], asked['redirect_uri'], asked['code_verifier'])
      : kind === 'refresh_token'
        ? world.consents.refresh(text(app), asked['refresh_token'])
        : 20_036;
  if (typeof pair === 'number') return refusal(pair, pair === 20_036 ? 'unsupported_grant_type' : 'invalid_grant');
  const { access, refresh } = pair;
  return {
    status: 200,
    body: {
      code: 0,
      access_token: access.token,
      expires_in: world.tokens.secondsLeft(access),
      refresh_token: refresh,
      refresh_token_expires_in: refreshLifeMs / 1_000,
      token_type: 'Bearer',
      scope: 'offline_access',
    },
  };
}

/** Whose token it is. */
export function userInfoAnswer(world: World, authorization: string | undefined): Answer {
  const openId = world.consents.userOf((authorization ?? '').replace(/^Bearer /, ''));
  return openId === undefined
    ? failure(400, 99991668, 'Invalid access token for authorization.')
    : ok({ open_id: openId, name: openId });
}

function refusal(code: number, error: string): Answer {
  return { status: 400, body: { code, error, error_description: 'refused by the sandbox' } };
}
