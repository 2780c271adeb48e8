import { randomUUID } from 'node:crypto';

import { ReplaySubject } from 'rxjs';

import { adminRoutes } from '../adapters/http/admin-routes.ts';
import { breakerRoutes } from '../adapters/http/breaker-routes.ts';
import { consoleRoute } from '../adapters/http/console/console-route.ts';
import { deadLetterRoutes } from '../adapters/http/dead-letter-routes.ts';
import { explainRoutes } from '../adapters/http/explain-routes.ts';
import { faultRoutes } from '../adapters/http/fault-routes.ts';
import { type RunningServer, startServer } from '../adapters/http/server.ts';
import { loadOwnOperators } from '../adapters/modules/own-operators.ts';
import type { Address, Config } from '../config/config.ts';
import { coverOf } from '../config/describe.ts';
import { isOf } from '../config/profiles.ts';
import { callsRoutes } from '../ingress/calls-api.ts';
import { tracedDoors } from '../ingress/traced-doors.ts';
import { LarkspurError } from '../model/errors.ts';
import { urlOf } from '../model/http.ts';
import { apiHealth } from '../pipeline/health/api-health.ts';
import { tracedSink } from '../pipeline/trace/traced-sink.ts';
import type { HttpRoute } from '../ports/http-route.ts';

import { allInOrder } from './all-in-order.ts';
import { breakerDesk } from './breaker-desk.ts';
import { disturbing, faultDesk, Faults } from './chaos/fault-desk.ts';
import { LocalDesk } from './dead-letters/desk.ts';
import { type EventDoors, eventDoors } from './event-doors.ts';
import { explain } from './explain.ts';
import { hotKeysOf, showHotKeys } from './hot-keys.ts';
import { LiveRoutes } from './live-routes.ts';
import { openStores } from './open-stores.ts';
import { openTraces } from './open-traces.ts';
import { outlookOf } from './outlook.ts';
import { knownCalls } from './profiles.ts';
import { refuseUnloaded } from './refuse-unloaded.ts';
import { openRuleTiers, type RuleTiers } from './rule-tiers.ts';
import { shownTail } from './shown-tail.ts';
import { Operations } from './stability/operations.ts';
import { profilesHere, type RunningRoutes, startRoutes } from './start-routes.ts';
import { type RunningWorker, startWorker } from './start-worker.ts';
import { statusOf } from './status.ts';
import type { Stores } from './stores.ts';
import type { ConfigSource } from './watch-config.ts';
import type { Stopped } from './worker.ts';
import { worldParts } from './world-parts.ts';

/** What a process does: makes calls, takes calls over HTTP, or both. */
export interface Roles {
  readonly worker: boolean;
  readonly ingress: boolean;
  /** A worker that runs the routes of a profile alone, and makes no calls. */
  readonly profile?: string;
}

/** A process with its roles under way. */
export interface Served {
  readonly stores: Stores;
  readonly worker: RunningWorker | undefined;
  readonly ingressUrl: string | undefined;
  readonly adminUrl: string;
  /** Resolves with the error that stops a role for good; never resolves while all is well. */
  readonly failed: Promise<LarkspurError>;
  /** Takes nothing new, lets what is under way end, closes everything. `aborted`: some of it did not end in time. */
  stop(): Promise<Stopped>;
}

/**
 * Starts the roles of a process: the admin port first, so that a probe can tell what is missing, then worker and doors.
 * Rejects with `config_invalid`, `port_in_use`, `data_folder_locked` ...; what was started until then is stopped. Kafka and
 * Redis that are away are waited for.
 * @param source looked at each second, and at once on SIGHUP: changed routes and policies are taken over
 */
export async function serve(
  config: Config,
  secrets: readonly string[],
  roles: Roles,
  source?: ConfigSource,
): Promise<Served> {
  if (roles.profile !== undefined && !Object.hasOwn(config.profiles, roles.profile)) {
    const known = Object.keys(config.profiles).join(', ') || 'there are none';
    throw new LarkspurError('config_invalid', `there is no profile ${roles.profile}`, { cure: `known: ${known}` });
  }
  const world = worldParts(config, secrets);
  const tracing = await openTraces(config, world);
  const traces = tracing?.traces;
  const parts = { ...world, traces };
  const opened = openStores(config, parts);
  const stores = traces === undefined ? opened : { ...opened, sink: tracedSink(opened.sink, traces) };
  const cover = coverOf(config);
  const desk = new LocalDesk(stores, parts, cover);
  const operations = new Operations(config, stores, parts, source);
  const faults = new Faults(config.chaos, parts);
  const servers: RunningServer[] = [];
  const nobodyCalls$ = new ReplaySubject<void>(1);
  let worker: RunningWorker | undefined;
  let live: LiveRoutes | undefined;
  let routes: readonly RunningRoutes[] = [];
  let rules: RuleTiers | undefined;
  let doors: EventDoors | undefined;
  let known = knownCalls(config);
  let named = config.routes;
  let fail: (error: LarkspurError) => void = () => undefined;
  const failed = new Promise<LarkspurError>((resolve) => {
    fail = resolve;
  });
  void stores.lost?.then((error) => fail(error));
  const listen = async (name: string, { host, port }: Address, routes: readonly HttpRoute[]): Promise<string> => {
    const { log, metrics } = parts;
    const clients = name === 'ingress' ? config.clients : [];
    const server = await startServer({ name, host, port, routes, token: config.adminToken, clients, log, metrics });
    servers.push(server);
    return urlOf(server);
  };
  const listenAtDoors = (routes: readonly HttpRoute[]): Promise<string> =>
    listen('ingress', config.listen.ingress, traces === undefined ? routes : tracedDoors(routes, traces));
  const stop = async (): Promise<Stopped> => {
    // Beside all else: one limit after the other would outlast the patience of who stops the process.
    const beside = [operations.stop(), faults.stop(), desk.close()];
    // What fails is told in its turn.
    for (const ending of beside) ending.catch(() => undefined);
    let stopped: Stopped = 'drained';
    await allInOrder([
      // Routes first: what they make of an event is for the worker.
      () => Promise.all(routes.map((running) => running.stop())),
      async () => (stopped = (await worker?.stop()) ?? stopped),
      // Who waits for a call that was cut off would hold up the end for half a minute more.
      () => (worker === undefined ? undefined : nobodyCalls$.next()),
      () => doors?.stop(),
      () => Promise.all(servers.map((server) => server.close())),
      () => doors?.close(),
      () => rules?.stop(),
      () => live?.close(),
      ...beside.map((ending) => () => ending),
      () => stores.close(),
      () => tracing?.close(),
    ]);
    return stopped;
  };
  try {
    const adminUrl = await listen('admin', config.listen.admin, [
      consoleRoute(),
      ...deadLetterRoutes(desk),
      ...operations.routes,
      ...explainRoutes({
        explain: (ref) => explain(ref, stores, worker?.house),
        minute: (atMs) => worker?.house.minutes.view(atMs),
      }),
      ...adminRoutes({
        metrics: parts.metrics,
        readiness: () => [...stores.readiness(), ...(doors?.readiness() ?? []), ...(rules?.readiness() ?? [])],
        status: () => ({
          ...(worker === undefined ? {} : statusOf(worker.house)),
          ...(rules === undefined ? {} : { rules: rules.state() }),
          hotKeys: hotKeysOf(live, worker?.house),
        }),
        health: () => (worker === undefined ? [] : apiHealth(worker.house)),
        tail: shownTail(stores, cover),
      }),
      ...breakerRoutes(breakerDesk(() => worker?.house, operations.audit, parts)),
      ...faultRoutes(faultDesk(faults, operations.audit, parts)),
    ]);
    const used = Object.values(config.upstreams).flatMap(({ use }) => use);
    const own = await loadOwnOperators(roles.worker ? used : []);
    if (roles.worker && roles.profile === undefined) {
      worker = startWorker(config, stores, parts, (error) => fail(error), own, faults.enabled ? faults : undefined);
      operations.begin(worker.house, disturbing(faults));
    }
    if (config.routeTable !== undefined)
      rules = openRuleTiers(() => ({ routes: named, upstreams: known.upstreams }), config.routeTable, stores, parts);
    const current = (live = new LiveRoutes(config.routes, parts.timers, parts.clock, rules));
    showHotKeys(parts.metrics, () => hotKeysOf(current, worker?.house));
    const routeAll = (): void => {
      if (routes.length > 0) return;
      routes = profilesHere(config, roles.profile).map((profile) => {
        const mine = current.only((name) => isOf(config.profiles, profile, name));
        return startRoutes(mine, stores, parts, (error) => fail(error), operations, profile);
      });
    };
    if (roles.worker && current.any) routeAll();
    if (roles.ingress) doors = eventDoors(config, current, stores, parts);
    const ingressUrl =
      doors !== undefined
        ? await listenAtDoors([
            ...callsRoutes({
              sink: stores.sink,
              claims: stores.claims,
              cancels: stores.cancels,
              cancelTtlMs: Math.max(config.worker.claims.ttlMs, config.worker.claims.unkeyedTtlMs),
              requestClaims: stores.requestClaims,
              clients: config.clients,
              clock: parts.clock,
              timers: parts.timers,
              metrics: parts.metrics,
              nobodyCalls$,
              newId: randomUUID,
              appOf: (call) => known.appOf(call),
              refusalOf: (call, id) => known.refusalOf(call, id),
              outlook: (call, id) => (worker === undefined ? undefined : outlookOf(worker.house, call, id)),
              sinkReady: () => stores.readiness().every(({ ready }) => ready),
            }),
            ...doors.routes,
          ])
        : undefined;
    operations.follow((changed) => {
      // What may be refused comes first: then nothing has changed. After it the services, then the routes to them.
      if (roles.worker) refuseUnloaded(changed.upstreams, own);
      const putRoutes = current.prepare(changed.routes);
      worker?.add(changed.upstreams);
      doors?.replace(changed.upstreams);
      known = knownCalls({ ...config, upstreams: { ...changed.upstreams, ...known.upstreams } });
      putRoutes();
      named = changed.routes;
      worker?.replace(changed.upstreams);
      if (roles.worker && current.any) routeAll();
    });
    return { stores, worker, ingressUrl, adminUrl, failed, stop };
  } catch (error) {
    // Why it did not start is more than what its end ran into.
    await stop().catch(() => undefined);
    throw error;
  }
}
