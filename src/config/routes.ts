import type { RouteSpec, RouteTarget } from '../model/route.ts';
import type { Tree } from '../model/schema-words.ts';

import { moduleUrl } from './module-url.ts';
import type { RawUpstream } from './schema-upstream.ts';
import type { RawConfig } from './schema.ts';

type RawRoute = NonNullable<RawConfig['routes']>[number];

/** What a route may lead to; one of these stands in each. */
export const routeTargets = ['http', 'handler', 'call', 'answer', 'topic'] as const;

const handlerTimeoutMs = 10_000;

/** The upstreams that routes to HTTP services stand for, by name: `hook-` and the host. */
export function hookUpstreams(routes: RawConfig['routes'] = []): Record<string, RawUpstream> {
  const hooks: Record<string, RawUpstream> = {};
  for (const { http } of routes) {
    // The id of a call is its event's, so a service can tell a repeat by this header.
    if (http !== undefined) hooks[hookName(http)] = { baseUrl: new URL(http).origin, idempotencyKey: {} };
  }
  return hooks;
}

/** Makes routes ready to be opened. */
export function compileRoutes(routes: RawConfig['routes'] = []): RouteSpec[] {
  const taken = new Map<string, number>();
  return routes.map((route) => {
    const to = targetOf(route);
    // Named after what it says, so that a route which moves in the list keeps the ids of its calls.
    const own = route.name ?? `${route.on.replaceAll('*', 'any')}.${to.kind}`.slice(0, 60);
    const times = (taken.get(own) ?? 0) + 1;
    taken.set(own, times);
    return { name: times === 1 ? own : `${own}-${times}`, on: route.on, app: route.app, when: route.when, to };
  });
}

/** Where a route as it is written leads. */
export function targetOf({ http, handler, call, answer, topic, timeoutMs }: Omit<RawRoute, 'on'>): RouteTarget {
  if (http !== undefined) return { kind: 'http', upstream: hookName(http), path: new URL(http).pathname };
  if (handler !== undefined) {
    return { kind: 'handler', module: moduleUrl(handler), timeoutMs: timeoutMs ?? handlerTimeoutMs };
  }
  if (call !== undefined) return { kind: 'call', template: call as string | Tree };
  if (answer !== undefined) return { kind: 'answer', template: answer };
  return { kind: 'topic', topic: topic ?? '' };
}

function hookName(http: string): string {
  const { protocol, host } = new URL(http);
  const name = host.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-');
  return `hook-${protocol === 'https:' ? 's-' : ''}${name}`.slice(0, 64);
}
