import { map, type Observable } from 'rxjs';

import type { Exchange, Verdict } from '../../model/outcome.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CallPlan } from '../../ports/profile.ts';
import type { Upstream, UpstreamRequest } from '../../ports/upstream.ts';

import { serviceOf } from './catalogue/apis.ts';
import { classifyFeishu } from './classify.ts';
import { parseObject } from './envelope.ts';
import type { Fetched } from './token-slot.ts';

/** How the token endpoints of the platform are asked. */
export interface AuthCallsOptions {
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** In front of all paths. */
  readonly pathPrefix: string;
  readonly timeoutMs: number;
}

/** For whom a question is, and what must not stand in what is said of it. */
interface About {
  readonly app: string;
  readonly secrets: readonly string[];
}

type Failed = Exclude<Fetched, { kind: 'token' }>;

/** Asks the token endpoints, and reads what they say. Nothing of a request stands in a message. */
export class AuthCalls {
  readonly #options: AuthCallsOptions;

  constructor(options: AuthCallsOptions) {
    this.#options = options;
  }

  /** The exchange, with the request it was for. */
  post(path: string, body: Readonly<Record<string, unknown>>): Observable<{ exchange: Exchange; plan: CallPlan }> {
    const { upstream, pathPrefix, timeoutMs } = this.#options;
    const request: UpstreamRequest = {
      method: 'POST',
      path: pathPrefix + path,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: Buffer.from(JSON.stringify(body)),
    };
    // Asking twice changes nothing, so an unknown outcome is no worry here; who must worry looks at the exchange.
    const repeat = { kind: 'always' } as const;
    const plan: CallPlan = {
      api: `POST ${path}`,
      service: serviceOf(path),
      breakerKey: 'auth',
      limits: [],
      repeat,
      token: undefined,
      request: () => request,
    };
    return upstream.send(request, timeoutMs).pipe(map((exchange) => ({ exchange, plan })));
  }

  /** What the platform tells the bearer of a token. */
  get(path: string, token: string): Observable<Exchange> {
    const { upstream, pathPrefix, timeoutMs } = this.#options;
    const headers = { authorization: `Bearer ${token}` };
    return upstream.send({ method: 'GET', path: pathPrefix + path, headers, body: undefined }, timeoutMs);
  }

  /** The token in the member of a flat answer. @param secrets that must not stand in its message */
  token(path: string, body: Readonly<Record<string, unknown>>, member: string, about: About): Observable<Fetched> {
    return this.post(path, body).pipe(
      map(({ exchange, plan }) => {
        const verdict = classifyFeishu(exchange, plan, this.#options.clock.wall());
        if (verdict.class === 'success' && exchange.kind === 'answered') {
          const answer = parseObject(exchange.body);
          const value = answer?.[member];
          const expire = answer?.['expire'];
          if (typeof value === 'string' && value !== '' && typeof expire === 'number') {
            return { kind: 'token', value, lifeMs: expire * 1_000 };
          }
        }
        return failureOf(verdict, plan, about);
      }),
    );
  }

  /** Asks for something that comes by another way. @returns why it does not come; `undefined`: it will */
  request(path: string, body: Readonly<Record<string, unknown>>, about: About): Observable<Failed | undefined> {
    return this.post(path, body).pipe(
      map(({ exchange, plan }) => {
        const verdict = classifyFeishu(exchange, plan, this.#options.clock.wall());
        return verdict.class === 'success' ? undefined : failureOf(verdict, plan, about);
      }),
    );
  }
}

function failureOf(verdict: Verdict, plan: CallPlan, about: About): Failed {
  const told = about.secrets.reduce((text, secret) => text.replaceAll(secret, '***'), verdict.message);
  const message = `app ${about.app}, ${plan.api}: ${told}`;
  const code = verdict.code === undefined ? {} : { code: verdict.code };
  // Only the platform itself, by a code, can say that these credentials are wrong. A proxy's page or a bad
  // certificate says nothing about them, and what waits for a token can wait for a person to mend that.
  const final = verdict.code !== undefined && (verdict.class === 'auth' || verdict.class === 'permanent');
  return final
    ? { kind: 'refused', message, ...code }
    : { kind: 'unavailable', askedMs: verdict.askedMs, message, ...code };
}
