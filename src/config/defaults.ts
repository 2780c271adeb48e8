import { breakerDefaults } from '../operators/breaker/options.ts';
import { adaptiveConcurrencyDefaults } from '../operators/bulkhead/adaptive-concurrency.ts';
import { retryDefaults } from '../operators/retry/options.ts';
import { defaultBurnRates, sloDefaults } from '../operators/slo/slo-tracker.ts';

import type { RawUpstream } from './schema-upstream.ts';
import type { RawConfig } from './schema.ts';

const MiB = 1024 * 1024;

/** What holds when nothing is written, but for upstreams. */
export const defaults = {
  listen: { ingress: '127.0.0.1:8080', admin: '127.0.0.1:9464' },
  data: '.larkspur/data',
  apps: [],
  routes: [],
  events: {
    dedupeMs: 86_400_000,
    maxAgeMs: 8 * 3_600_000,
    clockSkewMs: 300_000,
    patienceMs: 2_000,
    maxHeld: 1_000,
    maxHeldBytes: 64 * MiB,
  },
  worker: {
    inFlight: 256,
    ring: {
      capacity: 1024,
      // What waits is copied by the collector: with twice as many twelve partitions cost 12 MB more, and bring nothing more.
      highItems: 128,
      lowItems: 32,
      highBytes: 8 * MiB,
      lowBytes: 2 * MiB,
      totalBytes: 32 * MiB,
    },
    lanes: { items: 2_048, whenFull: 'pause' },
    claims: {
      leaseMs: 30_000,
      renewMs: 10_000,
      ttlMs: 86_400_000,
      unkeyedTtlMs: 7 * 86_400_000,
    },
    commit: { intervalMs: 500, everyDone: 1_000 },
    outcomeLines: { successShare: 0.01, perSecond: 10 },
  },
  playbooks: [],
  chaos: { injectFaults: false },
  maskFields: [],
  logLevel: 'info',
  drainMs: 20_000,
} satisfies RawConfig;

/** What holds for an upstream's idempotency key once it is declared. */
export const idempotencyKeyDefaults = {
  header: 'Idempotency-Key',
  windowMs: 86_400_000,
} satisfies RawUpstream['idempotencyKey'];

/** What holds for Kafka, Redis and the collector of traces once they are named. */
export const serviceDefaults = {
  kafka: {
    topicPrefix: 'larkspur.',
    group: 'larkspur-worker',
    clientId: 'larkspur',
    sessionTimeoutMs: 30_000,
    ssl: false,
  },
  tracing: { headers: {}, serviceName: 'larkspur', sampleRatio: 0.01, withheldFrom: [] },
  redis: { cluster: false, keyPrefix: 'larkspur:', timeoutMs: 250, replicas: 0, replicasWaitMs: 50 },
} satisfies RawConfig;

/** What holds for a table of routes once it is declared. */
export const routeTableDefaults = {
  timeoutMs: 500,
  exportMs: 3_600_000,
  sharedMs: 300_000,
  freshMs: 50,
  entries: 10_000,
  bytes: 64 * MiB,
} satisfies RawConfig['routeTable'];

/** What holds for a health check once it is declared. */
export const healthDefaults = {
  path: '/health',
  intervalMs: 10_000,
  timeoutMs: 3_000,
} satisfies RawUpstream['health'];

/** What holds for a declared probe. Feishu hands out a token that lives for half an hour or longer. */
export const probeDefaults = { headers: {}, expect: 200, withinMs: 800, minExpireS: 1_800 };

type WrittenBreaker = Exclude<NonNullable<RawUpstream['breaker']>, 'off'>;

/**
 * What holds for an upstream. Some defaults follow from what is written: a default never contradicts a written value.
 * @param written preset and file
 */
export function upstreamDefaults(name: string, written: RawUpstream): RawUpstream {
  const profile = written.profile ?? (name === 'feishu' ? 'feishu' : 'http');
  const feishu = profile === 'feishu';
  const times = written.timeouts ?? {};
  const attemptMs = times.attemptMs ?? Math.min(feishu ? 10_000 : 3_000, times.totalMs ?? Infinity);
  const concurrency = written.concurrency ?? (feishu ? 128 : 64);
  return {
    profile,
    ...(name === 'feishu' ? { baseUrl: 'https://open.feishu.cn' } : {}),
    concurrency,
    concurrencyFloor: Math.min(adaptiveConcurrencyDefaults.floor, concurrency),
    bucketConcurrency: Math.min(32, concurrency),
    bulkSpreadMs: 0,
    batching: false,
    connections: concurrency,
    maxResponseBytes: MiB,
    timeouts: {
      connectMs: Math.min(1_000, attemptMs),
      attemptMs,
      totalMs: Math.max(feishu ? 30_000 : 10_000, attemptMs),
    },
    retry: retryFor(written),
    breaker: breakerFor(written, attemptMs),
    limits: [],
    fallback: fallbackFor(written),
    ...(written.health === undefined ? {} : { health: healthDefaults }),
    ...(written.slo === undefined ? {} : { slo: sloFor(written.slo) }),
    ...(written.idempotencyKey === undefined ? {} : { idempotencyKey: idempotencyKeyDefaults }),
  };
}

function sloFor({ objective }: NonNullable<RawUpstream['slo']>): NonNullable<RawUpstream['slo']> {
  return { ...sloDefaults, burnRates: objective === undefined ? {} : { ...defaultBurnRates(objective) } };
}

function retryFor(written: RawUpstream): NonNullable<RawUpstream['retry']> {
  const given = typeof written.retry === 'object' ? written.retry : {};
  const baseMs = given.baseMs ?? Math.min(retryDefaults.baseMs, given.capMs ?? Infinity);
  const d = retryDefaults;
  // The longest visit is not among them: it has its place among the timeouts, as `totalMs`.
  return {
    maxAttempts: d.maxAttempts,
    jitter: 'full',
    longestWaitMs: d.longestWaitMs,
    minWorkMs: d.minWorkMs,
    attemptsInARow: Math.min(d.attemptsInARow, given.maxAttempts ?? Infinity),
    baseMs,
    capMs: Math.max(d.capMs, baseMs),
    floorMs: Math.min(d.floorMs, given.capMs ?? Infinity),
    budget: { ...d.budget, start: Math.min(d.budget.start, given.budget?.cap ?? Infinity) },
  };
}

function breakerFor(written: RawUpstream, attemptMs: number): NonNullable<RawUpstream['breaker']> {
  const given: WrittenBreaker = typeof written.breaker === 'object' ? written.breaker : {};
  const d = breakerDefaults;
  // At 5 calls a second 20 calls take too long to come together.
  const slow = (written.limits ?? []).some((limit) => perSecond(limit) <= 5);
  const probes = given.probes ?? Math.max(d.probes, given.successesInARow ?? 0);
  return {
    window: { ms: d.windowMs },
    mode: 'buckets',
    buckets: bucketsFor(given.window),
    minCalls: slow ? 8 : d.minCalls,
    failureRatio: d.failureRatio,
    slowMs: d.slowMs,
    slowRatio: d.slowRatio,
    consecutiveFailures: slow ? 6 : d.consecutiveFailures,
    minInFlight: d.minInFlight,
    hints: d.hints,
    coolDownMs: Math.min(d.coolDownMs, given.maxOpenMs ?? Infinity),
    maxOpenMs: Math.max(d.maxOpenMs, given.coolDownMs ?? 0),
    openJitter: d.openJitter,
    probes,
    successesInARow: Math.min(d.probesToClose, probes),
    probeLeaseMs: attemptMs + 5_000,
    rampFrom: d.rampFrom,
    rampMs: d.rampMs,
    closeWhen: {},
    adaptive: { ...d.adaptive, max: Math.max(d.adaptive.max, given.failureRatio ?? 0) },
  };
}

/** An elastic window moves by whole buckets: ten in its shortest length. */
function bucketsFor({ minMs, maxMs }: NonNullable<WrittenBreaker['window']> = {}): number {
  if (minMs === undefined || maxMs === undefined) return breakerDefaults.buckets;
  return Math.max(breakerDefaults.buckets, Math.min(1_000, Math.ceil((maxMs * 10) / minMs)));
}

function fallbackFor(written: RawUpstream): NonNullable<RawUpstream['fallback']> {
  const most = typeof written.retry === 'object' ? (written.retry.maxAttempts ?? Infinity) : Infinity;
  return {
    // Who declares a fallback wants answers remembered; who declares none is told the truth.
    ...(typeof written.fallback === 'object' ? { cacheTtlMs: 300_000 } : {}),
    afterAttempts: written.retry === 'off' ? 0 : Math.min(retryDefaults.attemptsInARow, most) - 1,
    writes: false,
  };
}

/** Calls per second that a written limit allows on average. */
function perSecond(limit: NonNullable<RawUpstream['limits']>[number]): number {
  if (limit.perSecond !== undefined) return limit.perSecond;
  if (limit.perMinute !== undefined) return limit.perMinute / 60;
  return ((limit.limit ?? Infinity) * 1_000) / (limit.windowMs ?? 1_000);
}
