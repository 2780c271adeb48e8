import { map, type Observable, of } from 'rxjs';

import type { Exchange } from '../../model/outcome.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Counter, Histogram, Metrics } from '../../ports/metrics.ts';
import type { CallPlan } from '../../ports/profile.ts';
import type { Random } from '../../ports/random.ts';
import type { TokenNeed, TokenReply, TokenSource } from '../../ports/token-source.ts';
import type { Upstream, UpstreamRequest } from '../../ports/upstream.ts';

import { classifyFeishu } from './classify.ts';
import { parseObject } from './envelope.ts';
import { type Fetched, TokenSlot } from './token-slot.ts';

/** An app whose tokens are fetched. */
export interface FeishuApp {
  readonly id: string;
  readonly secret: string;
  /** Default `self-built`. */
  readonly kind?: 'self-built' | 'store';
}

/** What tokens need. */
export interface FeishuTokensOptions {
  readonly apps: readonly FeishuApp[];
  /** Carries the questions; usually the upstream that the calls themselves take. */
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  /** Path prefix of the upstream's base URL; default none. */
  readonly pathPrefix?: string;
  /** How long one question may take; default 5000. */
  readonly timeoutMs?: number;
}

const durationBuckets = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4];

/**
 * Tenant and app tokens of self-built apps. One question at a time per token, whoever asks. Lifetimes are read from the
 * answers. User tokens and store apps need a durable store that this version does not have: they are refused, with the
 * reason. Secrets and token values stand in no message.
 */
export class FeishuTokens implements TokenSource {
  readonly #options: FeishuTokensOptions;
  readonly #apps: ReadonlyMap<string, FeishuApp>;
  readonly #slots = new Map<string, TokenSlot>();
  readonly #refreshes: Counter;
  readonly #durations: Histogram;

  constructor(options: FeishuTokensOptions) {
    this.#options = options;
    this.#apps = new Map(options.apps.map((app) => [app.id, app]));
    const { metrics } = options;
    this.#refreshes = metrics.counter('larkspur_token_refreshes_total', 'Questions for a token, by their outcome', [
      'app',
      'outcome',
    ]);
    this.#durations = metrics.histogram(
      'larkspur_token_refresh_duration_seconds',
      'How long a question for a token took',
      ['app'],
      durationBuckets,
    );
  }

  get(need: TokenNeed): Observable<TokenReply> {
    const { app: id, as } = need;
    const app = this.#apps.get(id);
    if (app === undefined) return refused(`app ${id} is not configured`);
    if (typeof as === 'object') {
      return refused(`a call as a user needs that user's stored consent, which this version does not keep (app ${id})`);
    }
    if (app.kind === 'store') {
      return refused(`app ${id} is a store app: its tokens need stored app tickets, which this version does not keep`);
    }
    return this.#slot(app, as).get();
  }

  reject({ app, as }: TokenNeed, version: number): void {
    if (typeof as === 'string') this.#slots.get(`${app} ${as}`)?.reject(version);
  }

  /** Ends questions under way. */
  close(): void {
    for (const slot of this.#slots.values()) slot.close();
  }

  #slot(app: FeishuApp, as: 'tenant' | 'app'): TokenSlot {
    // A self-built app lives in one tenant, so the tenant a call names does not tell tokens apart.
    const key = `${app.id} ${as}`;
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      const { clock, random } = this.#options;
      slot = new TokenSlot(() => this.#fetch(app, as), clock, random);
      this.#slots.set(key, slot);
    }
    return slot;
  }

  #fetch(app: FeishuApp, as: 'tenant' | 'app'): Observable<Fetched> {
    const { upstream, clock, pathPrefix = '', timeoutMs = 5_000 } = this.#options;
    const path = `/open-apis/auth/v3/${as}_access_token/internal`;
    const request: UpstreamRequest = {
      method: 'POST',
      path: pathPrefix + path,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: Buffer.from(JSON.stringify({ app_id: app.id, app_secret: app.secret })),
    };
    const startedMs = clock.now();
    return upstream.send(request, timeoutMs).pipe(
      map((exchange) => {
        const fetched = fetchedFrom(exchange, planOf(request, path), `${as}_access_token`, app, clock.wall());
        this.#refreshes.add({ app: app.id, outcome: fetched.kind === 'token' ? 'ok' : fetched.kind });
        this.#durations.observe({ app: app.id }, (clock.now() - startedMs) / 1_000);
        return fetched;
      }),
    );
  }
}

function refused(message: string): Observable<TokenReply> {
  return of({ kind: 'refused', message });
}

/** Asking twice changes nothing, so an unknown outcome is no worry here. */
function planOf(request: UpstreamRequest, path: string): CallPlan {
  const repeat = { kind: 'always' } as const;
  return { api: `POST ${path}`, breakerKey: 'auth', limits: [], repeat, token: undefined, request };
}

function fetchedFrom(exchange: Exchange, plan: CallPlan, member: string, app: FeishuApp, wallMs: number): Fetched {
  const verdict = classifyFeishu(exchange, plan, wallMs);
  if (verdict.class === 'success' && exchange.kind === 'answered') {
    const answer = parseObject(exchange.body);
    const value = answer?.[member];
    const expire = answer?.['expire'];
    if (typeof value === 'string' && value !== '' && typeof expire === 'number') {
      return { kind: 'token', value, lifeMs: expire * 1_000 };
    }
  }
  const message = `app ${app.id}, ${plan.api}: ${verdict.message.replaceAll(app.secret, '***')}`;
  // Only the platform itself, by a code, can say that these credentials are wrong. A proxy's page or a bad certificate
  // says nothing about them, and what waits for a token can wait for a person to mend that.
  const final = verdict.code !== undefined && (verdict.class === 'auth' || verdict.class === 'permanent');
  return final ? { kind: 'refused', message } : { kind: 'unavailable', askedMs: verdict.askedMs, message };
}
