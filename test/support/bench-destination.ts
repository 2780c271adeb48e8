import { feishuProfile } from '../../src/adapters/feishu/profile.ts';
import { httpProfile, type IdempotencyKey } from '../../src/adapters/http/http-profile.ts';
import { memoryAnswerCache } from '../../src/adapters/system/answer-cache.ts';
import { Cover } from '../../src/model/cover.ts';
import { BreakerRegistry } from '../../src/operators/breaker/breaker-registry.ts';
import { type BreakerOptions, breakerDefaults } from '../../src/operators/breaker/options.ts';
import { AdaptiveConcurrency, adaptiveConcurrencyDefaults } from '../../src/operators/bulkhead/adaptive-concurrency.ts';
import { Bulkhead } from '../../src/operators/bulkhead/bulkhead.ts';
import { fallbackDefaults } from '../../src/operators/fallback/options.ts';
import { SharedLimiter } from '../../src/operators/limit/shared-limiter.ts';
import { type RetryOptions, retryDefaults } from '../../src/operators/retry/options.ts';
import { RetryBudget } from '../../src/operators/retry/retry-budget.ts';
import { RetryPlan } from '../../src/operators/retry/retry-plan.ts';
import { DeadLetterBrake } from '../../src/pipeline/dead-letter-brake.ts';
import type { Destination, FallbackPolicy } from '../../src/pipeline/destination.ts';
import { placesAtDoor, Slots } from '../../src/pipeline/slots.ts';
import type { AnswerCache } from '../../src/ports/answer-cache.ts';
import type { Clock, Timers } from '../../src/ports/clock.ts';
import type { HealthProbe } from '../../src/ports/health-probe.ts';
import type { Profile, RateWindow } from '../../src/ports/profile.ts';
import type { QuotaLog } from '../../src/ports/quota-log.ts';
import type { Random } from '../../src/ports/random.ts';
import type { TokenSource } from '../../src/ports/token-source.ts';
import type { Upstream } from '../../src/ports/upstream.ts';

import type { Reply, SeenAttempt } from './scripted-upstream.ts';

/** One upstream of the bench; everything has the product's default. */
export interface BenchUpstream {
  readonly profile?: 'feishu' | 'http';
  readonly script?: (attempt: SeenAttempt) => Reply;
  readonly concurrency?: number;
  readonly bucketConcurrency?: number;
  readonly bulkSpreadMs?: number;
  readonly batching?: boolean;
  readonly attemptMs?: number;
  readonly limits?: readonly RateWindow[];
  readonly retry?: Partial<RetryOptions> | 'off';
  readonly breaker?: Partial<BreakerOptions> | 'off';
  readonly probe?: HealthProbe;
  readonly health?: { readonly probe: HealthProbe; readonly intervalMs: number };
  readonly fallback?: Partial<FallbackPolicy>;
  /** Default: secrets alone. */
  readonly cover?: Cover;
  /** Default 0: no read cache. */
  readonly cacheMs?: number;
  /** Default: in memory. */
  readonly answers?: AnswerCache;
  /** For a plain upstream that recognises a repeated POST. */
  readonly idempotencyKey?: IdempotencyKey;
}

/** What a destination of the bench shares with the others. */
export interface BenchProcess {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly quota: QuotaLog;
  readonly random: Random;
  readonly slots: Slots;
  readonly upstream: Upstream;
  readonly tokens: TokenSource;
}

/** A destination of the real parts, as `createDestinations` makes it, on a scripted upstream. */
export function benchDestination(name: string, settings: BenchUpstream, process: BenchProcess): Destination {
  const { concurrency = 64, bucketConcurrency = Math.min(32, concurrency), attemptMs = 10_000 } = settings;
  const { clock, random } = process;
  const retry = settings.retry === 'off' ? undefined : { ...retryDefaults, ...settings.retry };
  const breaker =
    settings.breaker === 'off'
      ? undefined
      : { ...breakerDefaults, declaredProbe: settings.probe !== undefined, ...settings.breaker };
  const budgets = new Map<string, RetryBudget>();
  const fallback = { ...fallbackDefaults, afterAttempts: 3, ...settings.fallback };
  const width = new AdaptiveConcurrency({
    ...adaptiveConcurrencyDefaults,
    floor: Math.min(adaptiveConcurrencyDefaults.floor, concurrency),
    ceiling: concurrency,
  });
  return {
    name,
    profile: profileOf(name, settings),
    upstream: process.upstream,
    targets: () => [],
    tokens: isFeishu(name, settings) ? process.tokens : undefined,
    cover: settings.cover ?? new Cover(),
    limiter: new SharedLimiter({ log: process.quota, clock, timers: process.timers }),
    width,
    slots: new Slots(() => width.limit, process.slots),
    working: new Bulkhead({ limit: () => placesAtDoor(width.limit) }),
    bulkSpreadMs: settings.bulkSpreadMs ?? 0,
    bucketLimit: bucketConcurrency,
    breakers: breaker === undefined ? undefined : new BreakerRegistry({ optionsOf: () => breaker, random }),
    probe: settings.probe,
    health: settings.health && { ...settings.health, last: undefined },
    retry: retry === undefined ? undefined : new RetryPlan(retry, random),
    budget: (key) => {
      let budget = budgets.get(key);
      if (budget === undefined) budgets.set(key, (budget = new RetryBudget((retry ?? retryDefaults).budget)));
      return budget;
    },
    brake: new DeadLetterBrake(),
    own: undefined,
    answers: settings.answers ?? memoryAnswerCache(clock),
    fallback,
    cacheMs: settings.cacheMs ?? 0,
    attemptMs,
    policies: 0,
    place: name,
    groups: new Map(),
  };
}

function isFeishu(name: string, { profile }: BenchUpstream): boolean {
  return (profile ?? (name === 'feishu' ? 'feishu' : 'http')) === 'feishu';
}

function profileOf(name: string, settings: BenchUpstream): Profile {
  const { limits = [], idempotencyKey } = settings;
  if (!isFeishu(name, settings))
    return httpProfile({ upstream: name, baseUrl: `http://${name}.internal`, limits, idempotencyKey });
  return feishuProfile({
    upstream: name,
    apps: [{ id: 'cli_a' }],
    batching: settings.batching ?? false,
    baseUrl: 'https://open.feishu.cn',
    ...(limits.length > 0 ? { limits: { '*': limits } } : {}),
  });
}
