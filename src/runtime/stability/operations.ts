import { isDeepStrictEqual } from 'node:util';

import { firstValueFrom, from, of, race } from 'rxjs';

import { pauseRoutes } from '../../adapters/http/pause-routes.ts';
import { playbookRoutes } from '../../adapters/http/playbook-routes.ts';
import { reviewRoutes } from '../../adapters/http/review-routes.ts';
import { stabilityRoutes } from '../../adapters/http/stability-routes.ts';
import type { Config } from '../../config/config.ts';
import { after } from '../../operators/interop/after.ts';
import type { House } from '../../pipeline/house.ts';
import type { HttpRoute } from '../../ports/http-route.ts';
import type { MetricsReader } from '../../ports/metrics.ts';
import { Audit } from '../audit.ts';
import { LiveConfig } from '../live-config.ts';
import type { Hands } from '../playbooks/actions.ts';
import { handsOf } from '../playbooks/hands.ts';
import { Playbooks } from '../playbooks/playbooks.ts';
import { auditEntries } from '../review/audit-entries.ts';
import { Chronicle } from '../review/chronicle.ts';
import type { Stores, WorldParts } from '../stores.ts';
import type { ConfigSource } from '../watch-config.ts';

import { Slos } from './slos.ts';
import { Stability } from './stability.ts';

const stopPatienceMs = 2_000;

/** What looks after a process while it works: scores, promises, playbooks, and the record of who changed what. */
export class Operations {
  readonly audit: Audit;
  readonly #parts: WorldParts & { readonly metrics: MetricsReader };
  readonly #stores: Stores;
  readonly #config: Config;
  readonly #slos: Slos;
  readonly #live: LiveConfig | undefined;
  #house: House | undefined;
  #stability: Stability | undefined;
  #playbooks: Playbooks | undefined;
  #chronicle: Chronicle | undefined;
  #unfollow = (): void => undefined;

  constructor(
    config: Config,
    stores: Stores,
    parts: WorldParts & { readonly metrics: MetricsReader },
    source: ConfigSource | undefined,
  ) {
    this.#config = config;
    this.#stores = stores;
    this.#parts = parts;
    this.audit = new Audit(stores.sink, parts);
    this.#slos = new Slos(parts, config.slos);
    this.#live = source === undefined ? undefined : new LiveConfig(source, this.audit, parts);
  }

  /** The doors to what it finds; they answer without a worker, too. */
  get routes(): readonly HttpRoute[] {
    return [
      ...stabilityRoutes({
        scores: () => this.#stability?.scores() ?? { upstreams: [] },
        graph: (from) => this.#stability?.graph(from) ?? { nodes: [], edges: [] },
        slos: () => ({ slos: this.#slos.view() }),
        config: () => ({ values: this.#live?.describe() ?? [] }),
      }),
      ...reviewRoutes({
        audit: (from, to) => auditEntries(this.#stores.reader, from, to),
        happenings: (from, to) => this.#chronicle?.between(from, to) ?? [],
      }),
      ...playbookRoutes({
        views: () => this.#playbooks?.views() ?? [],
        rehearse: (name, order) => this.#playbooks?.rehearse(name, order),
        end: (name, order) => this.#playbooks?.end(name, order),
      }),
      ...pauseRoutes({
        order: ({ upstream, paused, by, reason, requestId }) => {
          const house = this.#house;
          if (house?.destinations.has(upstream) !== true) return of(undefined);
          const before = house.pauses.heldBy(upstream);
          if (paused) house.pauses.pause(upstream, by);
          else house.pauses.resume(upstream);
          const to = house.pauses.heldBy(upstream);
          return this.audit.written({ by, what: `pause/${upstream}`, from: before, to, reason, requestId });
        },
      }),
    ];
  }

  /** Looks after this worker from {@link follow} on. @param disturb makes faults on purpose, or refuses to */
  begin(house: House, disturb: Hands['disturb']): void {
    const { metrics } = this.#parts;
    this.#house = house;
    const stability = (this.#stability = new Stability(house, metrics, this.#parts));
    const needs = { parts: this.#parts, reader: metrics, stores: this.#stores, audit: this.audit };
    const playbooks = new Playbooks({ ...needs, hands: handsOf(house, this.#live, disturb) }, this.#config.playbooks);
    this.#playbooks = playbooks;
    const { clock } = this.#parts;
    const chronicle = (this.#chronicle = new Chronicle({
      ...{ house, reader: metrics, clock },
      scores: () => stability.scores(),
      slos: () => this.#slos.view(),
    }));
    this.#slos.follow(house);
    stability.onLook(() => {
      this.#slos.look(house);
      chronicle.look();
      playbooks.look();
    });
  }

  /**
   * All else is ready: begins to look, and takes over the configuration whenever it changes.
   * @param apply may throw; then nothing changes
   */
  follow(apply: (config: Config) => void): void {
    this.#unfollow = this.#live?.follow((config) => this.#takeOver(config, apply)) ?? this.#unfollow;
    // Only now: what a playbook puts over the configuration has to reach what it is about.
    this.#stability?.start();
  }

  #takeOver(config: Config, apply: (config: Config) => void): void {
    apply(config);
    this.#slos.replace(config.slos);
    if (!isDeepStrictEqual(config.playbooks, this.#config.playbooks)) {
      this.#parts.log.warn({}, 'changed playbooks wait for a restart');
    }
    if (config.redis !== undefined) this.#stores.setRedisTimeoutMs(config.redis.timeoutMs);
  }

  /** An event was routed. */
  routed(route: string, outcome: string): void {
    this.#slos.routed(route, outcome !== 'dead-letter');
  }

  /** Looks no more. Resolves when no playbook is under way, or after two seconds: what it still does needs the stores. */
  async stop(): Promise<void> {
    this.#unfollow();
    this.#stability?.stop();
    const late$ = after(this.#parts.timers, stopPatienceMs);
    await firstValueFrom(race(from(this.#playbooks?.idle() ?? Promise.resolve()), late$), { defaultValue: undefined });
  }
}
