import { LRUCache } from 'lru-cache';
import { defer, finalize, Observable, of, tap } from 'rxjs';

import { andThen } from '../../operators/interop/and-then.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Counter, Histogram, Metrics } from '../../ports/metrics.ts';
import type { Random } from '../../ports/random.ts';
import type { TokenNeed, TokenReply, TokenSource } from '../../ports/token-source.ts';
import type { Upstream } from '../../ports/upstream.ts';

import { SealedTickets } from './app-tickets.ts';
import { AuthCalls } from './auth-calls.ts';
import { StoreApp } from './store-app.ts';
import type { TokenSharing } from './token-sharing.ts';
import { type Fetched, type Previous, TokenSlot } from './token-slot.ts';
import { type UserTokensOptions, UserTokens } from './user-tokens.ts';

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
  readonly timers: Timers;
  readonly random: Random;
  readonly metrics: Metrics;
  /** Path prefix of the upstream's base URL; default none. */
  readonly pathPrefix?: string;
  /** How long one question may take; default 5000. */
  readonly timeoutMs?: number;
  /** What processes have in common; absent: each asks for itself, and neither store apps nor users are served. */
  readonly shared?: Pick<UserTokensOptions, 'onRevoked' | 'vault'> & { readonly sharing: TokenSharing };
}

// Tokens of users come and go; who was dropped is asked for again.
const mostSlots = 10_000;
const durationBuckets = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4];

/**
 * Tokens of apps, tenants and users. One question at a time per token, whoever asks, over all processes that share a store.
 * Lifetimes are read from the answers. Secrets and token values stand in no message.
 */
export class FeishuTokens implements TokenSource {
  readonly #options: FeishuTokensOptions;
  readonly #apps: ReadonlyMap<string, FeishuApp>;
  readonly #auth: AuthCalls;
  readonly #users: UserTokens | undefined;
  readonly #slots = new LRUCache<string, TokenSlot>({ max: mostSlots });
  readonly #idle = new Set<() => void>();
  #questions = 0;
  #versions = 0;
  readonly #refreshes: Counter;
  readonly #durations: Histogram;

  constructor(options: FeishuTokensOptions) {
    const { metrics, upstream, clock, pathPrefix = '', timeoutMs = 5_000, shared } = options;
    this.#options = options;
    this.#apps = new Map(options.apps.map((app) => [app.id, app]));
    this.#auth = new AuthCalls({ upstream, clock, pathPrefix, timeoutMs });
    this.#users =
      shared === undefined
        ? undefined
        : new UserTokens({
            ...options,
            ...shared,
            auth: this.#auth,
            count: this.#count.bind(this),
          });
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
    const app = this.#apps.get(need.app);
    if (app === undefined) return refused(`app ${need.app} is not configured`);
    const slot = this.#slots.get(nameOf(app, need)) ?? this.#open(app, need);
    return typeof slot === 'string' ? refused(slot) : slot.get();
  }

  reject(need: TokenNeed, version: number): void {
    const app = this.#apps.get(need.app);
    if (app !== undefined) this.#slots.get(nameOf(app, need))?.reject(version);
  }

  /** Tokens that are kept in this process, at most 10,000: those that nobody has asked for the longest give way. */
  get kept(): number {
    return this.#slots.size;
  }

  /**
   * Emits once no question is under way, then completes. A process waits for that before it ends: the answer to the refresh
   * of a user's token comes once.
   */
  drained(): Observable<void> {
    return new Observable((subscriber) => {
      const done = (): void => {
        subscriber.next();
        subscriber.complete();
      };
      if (this.#questions === 0) done();
      else this.#idle.add(done);
      return () => this.#idle.delete(done);
    });
  }

  #open(app: FeishuApp, need: TokenNeed): TokenSlot | string {
    const { clock, random } = this.#options;
    const fetch$ = this.#fetchOf(app, need);
    if (typeof fetch$ === 'string') return fetch$;
    const slot = new TokenSlot(
      (previous) => this.#underWay(fetch$(previous)),
      clock,
      random,
      () => ++this.#versions,
    );
    this.#slots.set(nameOf(app, need), slot);
    return slot;
  }

  #underWay(question$: Observable<Fetched>): Observable<Fetched> {
    return defer(() => {
      this.#questions++;
      return question$.pipe(
        finalize(() => {
          if (--this.#questions > 0) return;
          const waiting = [...this.#idle];
          this.#idle.clear();
          for (const done of waiting) done();
        }),
      );
    });
  }

  /** How such a token is had, or why it cannot be. */
  #fetchOf(app: FeishuApp, need: TokenNeed): ((previous: Previous | undefined) => Observable<Fetched>) | string {
    const { as, tenant } = need;
    const { shared } = this.#options;
    if (typeof as === 'object') {
      const users = this.#users;
      if (users === undefined) return `tokens of users are kept sealed: set tokenKey (app ${app.id})`;
      return (previous) => users.fetch(app, as.user, previous?.value);
    }
    const name = nameOf(app, need);
    const once$ = (previous: Previous | undefined, ask$: Observable<Fetched>): Observable<Fetched> => {
      const measured$ = this.#measured(app.id, ask$);
      return shared === undefined ? measured$ : shared.sharing.fetch(name, previous, measured$);
    };
    if (app.kind !== 'store') {
      const path = `/open-apis/auth/v3/${as}_access_token/internal`;
      const body = { app_id: app.id, app_secret: app.secret };
      const about = { app: app.id, secrets: [app.secret] };
      return (previous) => once$(previous, this.#auth.token(path, body, `${as}_access_token`, about));
    }
    if (shared === undefined) return `app ${app.id} is a store app, whose tickets are kept sealed: set tokenKey`;
    const store = new StoreApp(app, this.#auth, new SealedTickets(shared.vault));
    if (as === 'app') return (previous) => once$(previous, store.appToken());
    if (tenant === undefined) return `app ${app.id} is a store app: the call must name its tenant`;
    const forApp: TokenNeed = { app: app.id, tenant: undefined, as: 'app' };
    const ask$ = defer(() =>
      andThen(this.get(forApp), (reply): Observable<Fetched> => {
        if (reply.kind === 'token') return store.tenantToken(tenant, reply.token.value);
        return of(reply.kind === 'refused' ? reply : { ...reply, askedMs: reply.waitMs });
      }),
    );
    return (previous) => once$(previous, ask$);
  }

  #measured(app: string, ask$: Observable<Fetched>): Observable<Fetched> {
    return defer(() => {
      const startedMs = this.#options.clock.now();
      return ask$.pipe(tap((fetched) => this.#count(app, fetched, startedMs)));
    });
  }

  #count(app: string, fetched: Fetched, startedMs: number): void {
    this.#refreshes.add({ app, outcome: fetched.kind === 'token' ? 'ok' : fetched.kind });
    this.#durations.observe({ app }, (this.#options.clock.now() - startedMs) / 1_000);
  }
}

/** A self-built app lives in one tenant, so the tenant that a call names does not tell its tokens apart. */
function nameOf({ id, kind }: FeishuApp, { as, tenant }: TokenNeed): string {
  if (typeof as === 'object') return `${id}/user/${as.user}`;
  return kind === 'store' && as === 'tenant' ? `${id}/tenant/${tenant ?? ''}` : `${id}/${as}`;
}

function refused(message: string): Observable<TokenReply> {
  return of({ kind: 'refused', message });
}
