import { isDeepStrictEqual } from 'node:util';

import { tokenProbe } from '../adapters/feishu/token-probe.ts';
import { httpProbe } from '../adapters/http/health-probe.ts';
import type { OriginPool } from '../adapters/http/pools.ts';
import type { Config, UpstreamConfig } from '../config/config.ts';
import { BreakerRegistry } from '../operators/breaker/breaker-registry.ts';
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
export type Replaceable = { -readonly [Name in keyof Policies]: Policies[Name] } & { policies: number };

/** The policies that an upstream's configuration asks for. */
export function policiesOf(upstream: UpstreamConfig, apps: Config['apps'], random: Random): Policies {
  const { retry, fallback, timeouts } = upstream;
  const probe = probeOf(upstream, apps);
  const breaker = upstream.breaker === 'off' ? undefined : { ...upstream.breaker, declaredProbe: probe !== undefined };
  return {
    width: new AdaptiveConcurrency({
      ...adaptiveConcurrencyDefaults,
      floor: upstream.concurrencyFloor,
      ceiling: upstream.concurrency,
    }),
    breakers: breaker === undefined ? undefined : new BreakerRegistry({ optionsOf: () => breaker, random }),
    probe,
    health: healthOf(upstream),
    retry: retry === 'off' ? undefined : new RetryPlan(retry, random),
    fallback: fallbackPolicy(fallback),
    cacheMs: upstream.cacheMs,
    attemptMs: timeouts.attemptMs,
  };
}

/**
 * Replaces the policies of a destination, and the number of sockets in its pools, whose configuration differs, and those alone: a breaker that is configured as
 * before keeps its state. @returns the names of what was replaced, and of what differs and waits for a restart
 */
export function replacePolicies(
  destination: Replaceable,
  [before, after]: readonly [UpstreamConfig, UpstreamConfig],
  apps: Config['apps'],
  random: Random,
  pools: readonly Pick<OriginPool, 'resize'>[],
): { readonly replaced: readonly string[]; readonly waiting: readonly string[] } {
  const differs = (Object.keys(after) as (keyof UpstreamConfig)[]).filter(
    (name) => !isDeepStrictEqual(before[name], after[name]),
  );
  const changed = new Set<string>(differs);
  if (before.timeouts.connectMs === after.timeouts.connectMs) changed.delete('timeouts');
  const replaced: string[] = [];
  const next = policiesOf(after, apps, random);
  if (differs.includes('breaker') || differs.includes('probe')) {
    // What a person holds open stays open until a person lets it go.
    if (destination.breakers !== undefined) next.breakers?.adoptForced(destination.breakers);
    destination.breakers = next.breakers;
    destination.probe = next.probe;
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

function probeOf({ probe, baseUrl }: UpstreamConfig, apps: Config['apps']): HealthProbe | undefined {
  if (probe === undefined) return undefined;
  const pathPrefix = prefixOf(baseUrl);
  const { path } = probe;
  if (path !== undefined) return httpProbe({ ...probe, pathPrefix, path });
  const [app] = apps;
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
