import { map, type Observable, of } from 'rxjs';

import { isTree } from '../../model/schema-words.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import type { Consented, ConsentRequest, UserConsent } from '../../ports/user-consent.ts';

import type { AuthCalls } from './auth-calls.ts';
import { parseObject, readEnvelope } from './envelope.ts';
import type { UserTokens } from './user-tokens.ts';

/** An app that asks users for their consent. */
export interface ConsentApp {
  readonly id: string;
  readonly secret: string;
  readonly oauth?:
    { readonly redirectUri: string; readonly scopes: readonly string[]; readonly accountsUrl: string } | undefined;
}

const tokenPath = '/open-apis/authen/v2/oauth/token';
const userPath = '/open-apis/authen/v1/user_info';

/** {@link UserConsent} of Feishu: its page, its token endpoint, and whose token it is. */
export class FeishuConsent implements UserConsent {
  readonly #apps: ReadonlyMap<string, ConsentApp>;
  readonly #auth: AuthCalls;
  readonly #users: UserTokens;

  constructor(apps: readonly ConsentApp[], auth: AuthCalls, users: UserTokens) {
    this.#apps = new Map(apps.map((app) => [app.id, app]));
    this.#auth = auth;
    this.#users = users;
  }

  pageFor(app: string, { state, challenge }: ConsentRequest): string | undefined {
    const oauth = this.#apps.get(app)?.oauth;
    if (oauth === undefined) return undefined;
    const page = new URL('/open-apis/authen/v1/authorize', oauth.accountsUrl);
    page.search = new URLSearchParams({
      client_id: app,
      response_type: 'code',
      redirect_uri: oauth.redirectUri,
      // Without it there is no refresh token.
      scope: [...new Set([...oauth.scopes, 'offline_access'])].join(' '),
      state,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    }).toString();
    return page.href;
  }

  complete(id: string, code: string, verifier: string): Observable<Consented> {
    const app = this.#apps.get(id);
    if (app?.oauth === undefined) return of({ kind: 'refused', message: 'the app asks for no consent' });
    const body = {
      grant_type: 'authorization_code',
      client_id: app.id,
      client_secret: app.secret,
      code,
      redirect_uri: app.oauth.redirectUri,
      code_verifier: verifier,
    };
    return andThen(this.#auth.post(tokenPath, body), ({ exchange }): Observable<Consented> => {
      if (exchange.kind === 'failed') return of({ kind: 'unavailable', message: exchange.failure });
      const token = parseObject(exchange.body)?.['access_token'];
      if (typeof token !== 'string') {
        const said = readEnvelope(exchange.body);
        return of({ kind: 'refused', message: `code ${said.code ?? exchange.status}` });
      }
      return andThen(this.#openIdOf(token), (openId): Observable<Consented> => {
        if (openId === undefined)
          return of({ kind: 'unavailable', message: 'the platform did not say who the user is' });
        return this.#users
          .keep(id, openId, exchange)
          .pipe(
            map((kept) =>
              kept ? { kind: 'kept', openId } : { kind: 'refused', message: 'the answer holds no tokens' },
            ),
          );
      });
    });
  }

  revoke(app: string, openId: string, atMs: number | undefined): Observable<void> {
    return this.#users.revoke(app, openId, atMs);
  }

  #openIdOf(token: string): Observable<string | undefined> {
    return this.#auth.get(userPath, token).pipe(
      map((exchange) => {
        const data = exchange.kind === 'answered' ? parseObject(exchange.body)?.['data'] : undefined;
        const openId = isTree(data) ? data['open_id'] : undefined;
        return typeof openId === 'string' && /^[\x21-\x7e]{1,128}$/.test(openId) ? openId : undefined;
      }),
    );
  }
}
