import { createHash, timingSafeEqual } from 'node:crypto';

import { defer, map, merge, type Observable, of, take } from 'rxjs';

import { type HttpRequest, type HttpResponse, jsonResponse, problemResponse } from '../../model/http.ts';
import { isTree } from '../../model/schema-words.ts';
import { after } from '../../operators/interop/after.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import { ExactLog } from '../../operators/limit/exact-log.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { HttpRoute } from '../../ports/http-route.ts';
import type { UserConsent } from '../../ports/user-consent.ts';
import type { Vault } from '../../ports/vault.ts';

/** What the doors of consent need. */
export interface OAuthDoorOptions {
  readonly consent: UserConsent;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly timers: Timers;
  /** A text that nobody can guess, of letters, digits, dash and underscore, 43 or more. */
  secretText(): string;
}

const stateLifeMs = 600_000;
const patienceMs = 10_000;
const cookie = 'larkspur_oauth';
// Anybody may begin. A state is a few hundred bytes.
const mostBegun = 10_000;
const stateForm = /^[\w-]{16,128}$/;

/**
 * `GET /oauth/{app}/start` sends a user's browser to the page of consent; `GET /oauth/{app}/callback`, where it comes back,
 * makes tokens of it. What ties both together is a state that serves once, within ten minutes, in the browser that began (a
 * cookie), and the verifier of PKCE, which never leaves the house before. Refused are 400 a state that is not known, used or
 * of another browser, 403 what the platform or the user refuses, 404 an app that asks for no consent, 503 who begins while
 * 10,000 others did so here within ten minutes.
 */
export function oauthRoutes(options: OAuthDoorOptions): readonly HttpRoute[] {
  const common = { method: 'GET', open: true } as const;
  const begun = new ExactLog([{ limit: mostBegun, windowMs: stateLifeMs }]);
  const starts: HttpRoute = {
    ...common,
    path: '/oauth/:app/start',
    handle: (request) =>
      inTime(
        defer(() => start(request, options, begun)),
        options,
      ),
  };
  const callbacks: HttpRoute = {
    ...common,
    path: '/oauth/:app/callback',
    handle: (request) =>
      inTime(
        defer(() => finish(request, options)),
        options,
      ),
  };
  return [starts, callbacks];
}

function start({ params }: HttpRequest, options: OAuthDoorOptions, begun: ExactLog): Observable<HttpResponse> {
  const { consent, vault, clock } = options;
  const app = params['app'] ?? '';
  const state = options.secretText();
  const verifier = options.secretText();
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const location = consent.pageFor(app, { state, challenge });
  if (location === undefined) return of(problem(404, 'No app of that id asks for consent here.'));
  if (!begun.take(clock.now())) return of(problem(503, 'Too many consents were begun. Begin again later.'));
  return vault.write(keyOf(state), JSON.stringify({ app, verifier }), 0, stateLifeMs).pipe(
    map((): HttpResponse => {
      const set = `${cookie}=${state}; Path=/oauth/${app}; Max-Age=${stateLifeMs / 1_000}; HttpOnly; SameSite=Lax`;
      return { status: 302, headers: { location, 'set-cookie': set, 'cache-control': 'no-store' }, body: '' };
    }),
  );
}

function finish({ params, query, headers }: HttpRequest, options: OAuthDoorOptions): Observable<HttpResponse> {
  const app = params['app'] ?? '';
  const { state = '', code = '' } = query;
  if (!stateForm.test(state) || !sameText(state, cookieIn(headers['cookie']))) {
    return of(problem(400, 'This browser began no consent of that state. Begin anew.'));
  }
  return andThen(options.vault.read(keyOf(state)), (entry): Observable<HttpResponse> => {
    const begun: unknown = entry === undefined ? undefined : JSON.parse(entry.text);
    if (entry === undefined || !isTree(begun) || begun['app'] !== app || typeof begun['verifier'] !== 'string') {
      return of(problem(400, 'The state is not known, was used, or is too old. Begin anew.'));
    }
    const { verifier } = begun;
    // Used up before anything is asked: of two that come at once one goes on.
    return andThen(options.vault.write(keyOf(state), '{}', entry.version, stateLifeMs), (ours) => {
      if (!ours) return of(problem(400, 'The state was used. Begin anew.'));
      if (code === '') return of(problem(403, 'No consent was given.'));
      return options.consent.complete(app, code, verifier).pipe(
        map((consented) => {
          if (consented.kind === 'kept') return jsonResponse(200, { app, open_id: consented.openId }, noStore);
          const status = consented.kind === 'refused' ? 403 : 503;
          return problem(status, `The consent did not become tokens (${consented.message}). Begin anew.`);
        }),
      );
    });
  });
}

const noStore = { 'cache-control': 'no-store' };
const keyOf = (state: string): string => `oauth/${state}`;

function inTime(answer$: Observable<HttpResponse>, { timers }: OAuthDoorOptions): Observable<HttpResponse> {
  const late$ = after(timers, patienceMs).pipe(map(() => problem(503, 'The store of consents does not answer.')));
  return merge(answer$, late$).pipe(take(1));
}

function problem(status: 400 | 403 | 404 | 503, detail: string): HttpResponse {
  const codes = { 400: 'bad_request', 403: 'forbidden', 404: 'not_found', 503: 'auth_unavailable' } as const;
  const wait = status === 503 ? { retryAfterSeconds: 5 } : {};
  return problemResponse({ status, code: codes[status], title: 'No consent', detail, ...wait });
}

function cookieIn(header = ''): string {
  const [, value = ''] = new RegExp(`(?:^|;\\s*)${cookie}=([^;]*)`).exec(header) ?? [];
  return value;
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}
