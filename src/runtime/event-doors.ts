import { randomBytes, randomUUID } from 'node:crypto';

import { defer, map, of } from 'rxjs';

import { SealedTickets } from '../adapters/feishu/app-tickets.ts';
import { AuthCalls } from '../adapters/feishu/auth-calls.ts';
import { FeishuConsent } from '../adapters/feishu/consent.ts';
import { UserTokens } from '../adapters/feishu/user-tokens.ts';
import type { ReadinessCheck } from '../adapters/http/admin-routes.ts';
import { OriginPool } from '../adapters/http/pools.ts';
import { HttpUpstream } from '../adapters/http/upstream.ts';
import type { Config, UpstreamConfig } from '../config/config.ts';
import type { AskService } from '../ingress/feishu/callback-desk.ts';
import { feishuDoors } from '../ingress/feishu/doors.ts';
import { EventNotes } from '../ingress/feishu/event-notes.ts';
import { oauthRoutes } from '../ingress/oauth/oauth-doors.ts';
import { checkCall } from '../model/contracts.ts';
import { LarkspurError } from '../model/errors.ts';
import { jsonOrText } from '../model/json-levels.ts';
import type { AppTickets } from '../ports/app-tickets.ts';
import type { HttpRoute } from '../ports/http-route.ts';
import type { Logger } from '../ports/logger.ts';
import type { UserConsent } from '../ports/user-consent.ts';

import { startLinks } from './links.ts';
import type { LiveRoutes } from './live-routes.ts';
import { profileOf } from './profiles.ts';
import { type SharedTokens, sharedTokens } from './shared-tokens.ts';
import type { Stores, WorldParts } from './stores.ts';

/** The doors of Feishu, with the sockets that answer callbacks. */
export interface EventDoors {
  readonly routes: readonly HttpRoute[];
  /** Whether the long connections that are wanted are open. */
  readiness(): readonly ReadinessCheck[];
  /** Callbacks go to these upstreams from now on, too. */
  replace(upstreams: Config['upstreams']): void;
  /** Takes nothing more over long connections. */
  stop(): Promise<void>;
  /** Ends them. */
  close(): Promise<void>;
}

/** The doors of Feishu for the configured apps, on the stores of this process. */
export function eventDoors(config: Config, live: LiveRoutes, stores: Stores, parts: WorldParts): EventDoors {
  const services = new Services(config, parts);
  const shared = sharedTokens(config, stores, parts);
  const consent = shared === undefined ? undefined : services.consent(shared);
  const oauth =
    shared === undefined || consent === undefined
      ? []
      : oauthRoutes({
          ...{ consent, vault: shared.vault, clock: parts.clock, timers: parts.timers },
          secretText: () => randomBytes(32).toString('base64url'),
        });
  const feishu = feishuDoors({
    apps: config.apps.map((app) => ({
      id: app.id,
      encryptKeys: present(app.encryptKey, app.previousEncryptKey),
      verificationTokens: present(app.verificationToken, app.previousVerificationToken),
    })),
    settings: config.events,
    sink: stores.sink,
    claims: stores.eventClaims,
    finder: stores.finder,
    clock: parts.clock,
    timers: parts.timers,
    metrics: parts.metrics,
    routes: live,
    ask: (call) => services.ask(call),
    process: randomUUID(),
    notes: new EventNotes({
      tickets: shared === undefined ? nowhere(parts.log) : new SealedTickets(shared.vault),
      ...(consent === undefined ? {} : { consent }),
    }),
    ready: () => stores.readiness().every(({ ready }) => ready),
  });
  const links = startLinks(config, feishu, parts);
  return {
    routes: [...feishu.routes, ...oauth],
    readiness: () => links.readiness(),
    replace: (upstreams) => services.replace(upstreams),
    stop: () => links.stop(),
    close: () => services.close(),
  };
}

/** Tickets go no further than here also where nothing keeps them. */
function nowhere(log: Logger): AppTickets {
  return {
    keep(app) {
      return defer(() => {
        log.warn({ app, cure: 'set tokenKey, which seals what is kept' }, 'an app_ticket came and is not kept');
        return of(undefined);
      });
    },
  } satisfies AppTickets;
}

/** The services of routes, asked once and at once: a person waits, so there is no retry. */
class Services {
  readonly #apps: Config['apps'];
  #upstreams: Config['upstreams'];
  readonly #parts: WorldParts;
  readonly #pools = new Map<string, OriginPool>();

  constructor({ apps, upstreams }: Config, parts: WorldParts) {
    this.#apps = apps;
    this.#upstreams = upstreams;
    this.#parts = parts;
  }

  ask(call: unknown): ReturnType<AskService> {
    const checked = checkCall(call);
    const upstream = checked.ok ? this.#upstreams[checked.call.upstream ?? ''] : undefined;
    if (!checked.ok || upstream === undefined) throw new LarkspurError('internal', 'a route made no call');
    const plan = profileOf(upstream, this.#apps).plan(checked.call, checked.call.id ?? '');
    if ('reason' in plan) throw new LarkspurError('internal', plan.message);
    return new HttpUpstream(this.#pool(upstream)).send(plan.request(), upstream.timeouts.totalMs).pipe(
      map((exchange) => {
        if (exchange.kind === 'answered' && exchange.status < 300) return jsonOrText(exchange.body.toString('utf8'));
        throw new LarkspurError('no_answer', exchange.kind === 'failed' ? exchange.failure : `HTTP ${exchange.status}`);
      }),
    );
  }

  /** Asks the token endpoints of Feishu. */
  consent(shared: SharedTokens): UserConsent | undefined {
    const feishu = Object.values(this.#upstreams).find(({ profile }) => profile === 'feishu');
    if (feishu === undefined) return undefined;
    const upstream = new HttpUpstream(this.#pool(feishu));
    const pathPrefix = new URL(feishu.baseUrl).pathname.replace(/\/$/, '');
    const { clock, timers } = this.#parts;
    const auth = new AuthCalls({ upstream, clock, pathPrefix, timeoutMs: 5_000 });
    return new FeishuConsent(this.#apps, auth, new UserTokens({ ...shared, auth, clock, timers }));
  }

  replace(upstreams: Config['upstreams']): void {
    this.#upstreams = { ...this.#upstreams, ...upstreams };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  #pool({ name, baseUrl, connections, timeouts }: UpstreamConfig): OriginPool {
    let pool = this.#pools.get(name);
    if (pool === undefined) {
      pool = new OriginPool(baseUrl, { connections, connectTimeoutMs: timeouts.connectMs }, this.#parts.clock);
      this.#pools.set(name, pool);
    }
    return pool;
  }
}

function present(...texts: readonly (string | undefined)[]): string[] {
  return texts.filter((text) => text !== undefined);
}
