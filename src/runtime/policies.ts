import { isDeepStrictEqual } from 'node:util';

import { tokenProbe } from '../adapters/feishu/token-probe.ts';
import { httpProbe } from '../adapters/http/health-probe.ts';
import type { OriginPool } from '../adapters/http/pools.ts';
import type { Config, UpstreamConfig } from '../config/config.ts';
import { BreakerRegistry } from '../operators/breaker/breaker-registry.ts';
import { type BreakerOptions, breakerDefaults } from '../operators/breaker/options.ts';
import { AdaptiveConcurrency, adaptiveConcurrencyDefaults } from '../operators/bulkhead/adaptive-concurrency.ts';
import { fallbackDefaults } from '../operators/fallback/options.ts';
import { RetryPlan } from '../operators/retry/retry-plan.ts';
import type { Destination, FallbackPolicy } from '../pipeline/destination.ts';
import type { HealthCheck } from '../pipeline/health/health-state.ts';
import type { HealthProbe } from '../ports/health-probe.ts';
import type { Random } from '../ports/random.ts';

/** What of a destination may be replaced while it works. */
export type Policies = Pick<
  Destination,
  'width' | 'breakers' | 'probe' | 'health' | 'retry' | 'fallback' | 'cacheMs' | 'attemptMs'
>;

const replaceable: readonly string[] = [
  ...(['breaker', 'probe', 'health', 'retry', 'fallback', 'cacheMs'] as const),
  ...(['concurrency', 'concurrencyFloor', 'connections'] as const),
];

/** The same, while it is being replaced: nobody else may write. */
export type Replaceable = { -readonly [Name in keyof Policies]: Policies[Name] } & {
  policies: number;
  budget: Destination['budget'];
};

/** The same with its groups of APIs. */
export type Grouped = Replaceable & { readonly groups: ReadonlyMap<string, Replaceable> };

/** The policies that an upstream's configuration asks for. */
export function policiesOf(upstream: UpstreamConfig, apps: Config['apps'], random: Random): Policies {
  const { retry, fallback, timeouts } = upstream;
  const probe = probeOf(upstream, apps);
  return {
    width: new AdaptiveConcurrency({
      ...adaptiveConcurrencyDefaults,
      floor: upstream.concurrencyFloor,
      ceiling: upstream.concurrency,
    }),
    breakers:
      upstream.breaker === 'off' ? undefined : new BreakerRegistry({ optionsOf: breakersOf(upstream, probe), random }),
    probe,
    health: healthOf(upstream),
    retry: retry === 'off' ? undefined : new RetryPlan(retry, random),
    fallback: fallbackPolicy(fallback),
    cacheMs: upstream.cacheMs,
    attemptMs: timeouts.attemptMs,
  };
}

/** Options of a breaker by its key: those of the group whose key it is, else of the upstream. */
function breakersOf(upstream: UpstreamConfig, probe: HealthProbe | undefined): (key: string) => BreakerOptions {
  const optionsFor = ({ breaker }: UpstreamConfig): BreakerOptions => ({
    ...(breaker === 'off' ? breakerDefaults : breaker),
    declaredProbe: probe !== undefined,
  });
  const own = new Map(upstream.groups.map(({ name, policies }) => [name, optionsFor(policies)]));
  const others = optionsFor(upstream);
  return (key) => own.get(groupIn(key) ?? '') ?? others;
}

/** The group whose breaker it is; `undefined`: of calls without one. */
function groupIn(key: string): string | undefined {
  return /\/group\/([^/]+)$/.exec(key)?.[1];
}

/**
 * Replaces the policies of a destination, and the number of sockets in its pools, whose configuration differs, and those alone: a breaker that is configured as
 * before keeps its state. @returns the names of what was replaced, and of what differs and waits for a restart
 */
export function replacePolicies(
  destination: Grouped,
  [before, after]: readonly [UpstreamConfig, UpstreamConfig],
  apps: Config['apps'],
  random: Random,
  pools: readonly Pick<OriginPool, 'resize'>[],
  groupPools: (group: string) => readonly Pick<OriginPool, 'resize'>[] = () => [],
): { readonly replaced: readonly string[]; readonly waiting: readonly string[] } {
  const differs = (Object.keys(after) as (keyof UpstreamConfig)[]).filter(
    (name) => !isDeepStrictEqual(before[name], after[name]),
  );
  const changed = new Set<string>(differs);
  if (before.timeouts.connectMs === after.timeouts.connectMs) changed.delete('timeouts');
  const replaced: string[] = [];
  const next = policiesOf(after, apps, random);
  const groups = differs.includes('groups') ? replaceGroups(destination, [before, after], random, groupPools) : none;
  replaced.push(...groups.replaced);
  changed.delete('groups');
  for (const name of groups.waiting) changed.add(name);
  if (differs.includes('breaker') || differs.includes('probe')) {
    // What a person holds open stays open until a person lets it go.
    if (destination.breakers !== undefined) next.breakers?.adoptForced(destination.breakers);
    destination.breakers = next.breakers;
    destination.probe = next.probe;
    for (const { name, policies } of after.groups) {
      const group = destination.groups.get(name);
      if (group !== undefined) group.breakers = policies.breaker === 'off' ? undefined : next.breakers;
    }
    replaced.push('breaker');
  }
  if (differs.includes('concurrency') || differs.includes('concurrencyFloor')) {
    destination.width = next.width;
    replaced.push('concurrency');
  }
  if (differs.includes('connections')) {
    // By default as many as calls at once: without them the calls that were let in queue for a socket until their time is over.
    for (const pool of pools) pool.resize(after.connections);
    replaced.push('connections');
  }
  if (differs.includes('health')) {
    destination.health = next.health;
    replaced.push('health');
  }
  if (differs.includes('retry')) {
    destination.retry = next.retry;
    replaced.push('retry');
  }
  if (differs.includes('fallback')) {
    destination.fallback = next.fallback;
    replaced.push('fallback');
  }
  if (differs.includes('cacheMs')) {
    destination.cacheMs = next.cacheMs;
    replaced.push('cache');
  }
  if (before.timeouts.attemptMs !== after.timeouts.attemptMs) {
    destination.attemptMs = next.attemptMs;
    replaced.push('timeouts.attemptMs');
  }
  if (replaced.length > 0) destination.policies++;
  const waiting = [...changed].filter((name) => !replaceable.includes(name));
  return { replaced, waiting };
}

const none = { replaced: [], waiting: [] } as const;

/** The same for the groups that there are; which calls are of a group waits for a restart. */
function replaceGroups(
  destination: Grouped,
  [before, after]: readonly [UpstreamConfig, UpstreamConfig],
  random: Random,
  poolsOf: (group: string) => readonly Pick<OriginPool, 'resize'>[],
): { readonly replaced: readonly string[]; readonly waiting: readonly string[] } {
  const names = new Set([...before.groups, ...after.groups].map(({ name }) => name));
  const replaced: string[] = [];
  const waiting: string[] = [];
  const breakers = new Set<string>();
  for (const name of names) {
    const [old, next] = [before, after].map(({ groups }) => groups.find((group) => group.name === name));
    const group = destination.groups.get(name);
    const same = isDeepStrictEqual([old?.paths, old?.tier], [next?.paths, next?.tier]);
    if (old === undefined || next === undefined || group === undefined || !same) {
      waiting.push(`groups.${name}`);
      continue;
    }
    const differs = (key: keyof UpstreamConfig): boolean => !isDeepStrictEqual(old.policies[key], next.policies[key]);
    const fresh = groupPolicies(next.policies, destination, random);
    if (differs('breaker')) {
      breakers.add(name);
      group.breakers = fresh.breakers;
      replaced.push(`groups.${name}.breaker`);
    }
    if (differs('concurrency') || differs('concurrencyFloor')) {
      group.width = fresh.width;
      replaced.push(`groups.${name}.concurrency`);
    }
    if (differs('connections')) {
      for (const pool of poolsOf(name)) pool.resize(next.policies.connections);
      replaced.push(`groups.${name}.connections`);
    }
    if (differs('retry')) {
      group.retry = fresh.retry;
      replaced.push(`groups.${name}.retry`);
    }
    if (old.policies.timeouts.attemptMs !== next.policies.timeouts.attemptMs) {
      group.attemptMs = fresh.attemptMs;
      replaced.push(`groups.${name}.timeouts.attemptMs`);
    }
  }
  // Those of other groups, and of calls without one, keep their state.
  destination.breakers?.replaceOptions(breakersOf(after, destination.probe), (key) => breakers.has(groupIn(key) ?? ''));
  return { replaced, waiting };
}

/** What a group of APIs has of its own. Its breakers stand among those of its upstream, under keys that end with its name. */
export function groupPolicies(
  { breaker, retry, timeouts, concurrency, concurrencyFloor }: UpstreamConfig,
  { breakers }: Pick<Destination, 'breakers'>,
  random: Random,
): Pick<Policies, 'width' | 'breakers' | 'retry' | 'attemptMs'> {
  return {
    width: new AdaptiveConcurrency({ ...adaptiveConcurrencyDefaults, floor: concurrencyFloor, ceiling: concurrency }),
    breakers: breaker === 'off' ? undefined : breakers,
    retry: retry === 'off' ? undefined : new RetryPlan(retry, random),
    attemptMs: timeouts.attemptMs,
  };
}

function probeOf({ probe, baseUrl }: UpstreamConfig, apps: Config['apps']): HealthProbe | undefined {
  if (probe === undefined) return undefined;
  const pathPrefix = prefixOf(baseUrl);
  const { path } = probe;
  if (path !== undefined) return httpProbe({ ...probe, pathPrefix, path });
  // A store app gets no token at the endpoint that is asked: its probe would never be answered well.
  const app = apps.find(({ kind }) => kind !== 'store');
  return app === undefined ? undefined : tokenProbe({ ...probe, pathPrefix, app });
}

function healthOf({ health, baseUrl }: UpstreamConfig): HealthCheck | undefined {
  if (health === undefined) return undefined;
  const { path, intervalMs, timeoutMs: withinMs } = health;
  const probe = httpProbe({ pathPrefix: prefixOf(baseUrl), path, headers: {}, expect: 200, withinMs });
  return { probe, intervalMs, last: undefined };
}

/** The path of a base URL, without a trailing slash. */
export function prefixOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '');
}

function fallbackPolicy(fallback: UpstreamConfig['fallback']): FallbackPolicy {
  if (fallback === 'off') return { ...fallbackDefaults, off: true, afterAttempts: Infinity };
  return { ...fallback, off: false };
}
