import { retryDefaults, type RetryOptions } from '../operators/retry/options.ts';

import { compileAddress } from './address.ts';
import { compileBreaker } from './compile-breaker.ts';
import type {
  Config,
  FallbackConfig,
  KafkaConfig,
  LimitConfig,
  ProbeConfig,
  TracingConfig,
  UpstreamConfig,
} from './config.ts';
import { defaults, healthDefaults, idempotencyKeyDefaults, probeDefaults, serviceDefaults } from './defaults.ts';
import { moduleUrl } from './module-url.ts';
import type { Playbook } from './playbooks.ts';
import { compileRouteTable } from './route-table.ts';
import { compileRoutes } from './routes.ts';
import type { RawUpstream } from './schema-upstream.ts';
import type { RawConfig } from './schema.ts';
import { compileSlos } from './slos.ts';

/** Texts of the PEM files, by the path they were named with. */
export type PemTexts = ReadonlyMap<string, string>;

/** Makes the frozen {@link Config} from a complete and faultless raw one. */
export function compile(raw: RawConfig, pem: PemTexts, playbooks: readonly Playbook[] = []): Config {
  const upstreams: Record<string, UpstreamConfig> = Object.create(null) as Record<string, UpstreamConfig>;
  for (const [name, upstream] of Object.entries(raw.upstreams ?? {})) upstreams[name] = compileUpstream(name, upstream);
  const { ring, lanes, claims, commit, outcomeLines } = raw.worker ?? {};
  const routes = compileRoutes(raw.routes);
  const config: Config = {
    kafka: raw.kafka === undefined ? undefined : compileKafka(raw.kafka, pem),
    redis: raw.redis?.url === undefined ? undefined : { ...serviceDefaults.redis, ...raw.redis, url: raw.redis.url },
    listen: {
      ingress: compileAddress(raw.listen?.ingress ?? defaults.listen.ingress),
      admin: compileAddress(raw.listen?.admin ?? defaults.listen.admin),
    },
    adminToken: raw.adminToken,
    tokenKeys:
      raw.tokenKey === undefined
        ? []
        : [raw.tokenKey, ...(raw.previousTokenKey === undefined ? [] : [raw.previousTokenKey])],
    clients: (raw.clients ?? []).map(({ name, token, apps, upstreams: called, perSecond }) => ({
      ...{ name, token, apps, upstreams: called, perSecond },
    })),
    data: raw.data ?? defaults.data,
    apps: (raw.apps ?? []).map(
      ({ id, secret, kind, oauth, longConnection, encryptKey, verificationToken, ...previous }) => ({
        id,
        secret,
        kind: kind ?? 'self-built',
        oauth: oauth && { scopes: [], accountsUrl: accountsUrlOf(upstreams), ...oauth },
        longConnection: longConnection ?? false,
        encryptKey,
        verificationToken,
        previousEncryptKey: previous.previousEncryptKey,
        previousVerificationToken: previous.previousVerificationToken,
      }),
    ),
    upstreams,
    events: { ...defaults.events, ...raw.events },
    routes,
    routeTable: raw.routeTable === undefined ? undefined : compileRouteTable(raw.routeTable),
    profiles: Object.fromEntries(Object.entries(raw.profiles ?? {}).map(([name, { routes = [] }]) => [name, routes])),
    slos: compileSlos(
      raw,
      routes.map(({ name }) => name),
    ),
    worker: {
      inFlight: raw.worker?.inFlight ?? defaults.worker.inFlight,
      ring: { ...defaults.worker.ring, ...ring, capacity: powerOfTwo(ring?.capacity ?? defaults.worker.ring.capacity) },
      lanes: { ...defaults.worker.lanes, ...lanes },
      claims: { ...defaults.worker.claims, ...claims },
      commit: { ...defaults.worker.commit, ...commit },
      outcomeLines: { ...defaults.worker.outcomeLines, ...outcomeLines },
    },
    tracing: compileTracing(raw.tracing),
    playbooks,
    chaos: { ...defaults.chaos, faultsFile: undefined, ...raw.chaos },
    maskFields: raw.maskFields ?? defaults.maskFields,
    logLevel: raw.logLevel ?? defaults.logLevel,
    drainMs: raw.drainMs ?? defaults.drainMs,
  };
  return deepFreeze(config);
}

/** The page of consent belongs to the platform that hands out the tokens: that of the first upstream of its kind. */
function accountsUrlOf(upstreams: Readonly<Record<string, UpstreamConfig>>): string {
  const feishu = Object.values(upstreams).find(({ profile }) => profile === 'feishu');
  const isLark = feishu !== undefined && /(^|\.)larksuite\.com$/.test(new URL(feishu.baseUrl).hostname);
  return isLark ? 'https://accounts.larksuite.com' : 'https://accounts.feishu.cn';
}

function compileKafka(raw: NonNullable<RawConfig['kafka']>, pem: PemTexts): KafkaConfig {
  const files = typeof raw.ssl === 'object' ? raw.ssl : {};
  const part = (key: string, file: string | undefined) => {
    const text = file === undefined ? undefined : pem.get(file);
    return text === undefined ? {} : { [key]: text };
  };
  const { mechanism, username, password } = raw.sasl ?? {};
  return {
    brokers: raw.brokers ?? [],
    topicPrefix: raw.topicPrefix ?? serviceDefaults.kafka.topicPrefix,
    group: raw.group ?? serviceDefaults.kafka.group,
    clientId: raw.clientId ?? serviceDefaults.kafka.clientId,
    sessionTimeoutMs: raw.sessionTimeoutMs ?? serviceDefaults.kafka.sessionTimeoutMs,
    ssl:
      raw.ssl === undefined || raw.ssl === false
        ? undefined
        : { ...part('ca', files.caFile), ...part('cert', files.certFile), ...part('key', files.keyFile) },
    sasl:
      mechanism === undefined || username === undefined || password === undefined
        ? undefined
        : { mechanism, username, password },
  };
}

function compileTracing(raw: RawConfig['tracing']): TracingConfig | undefined {
  if (raw?.endpoint === undefined) return undefined;
  const { pathname, href } = new URL(raw.endpoint);
  const url = pathname === '/' ? new URL('/v1/traces', href).href : href;
  return { ...serviceDefaults.tracing, ...raw, url };
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(atLeast));
}

function compileUpstream(name: string, raw: RawUpstream): UpstreamConfig {
  const { connectMs = 0, attemptMs = 0, totalMs = 0 } = raw.timeouts ?? {};
  const targets = (raw.targets ?? [raw.baseUrl ?? '']).map((url) => url.replace(/\/+$/, ''));
  const { groups = {}, ...whole } = raw;
  return {
    name,
    profile: raw.profile ?? 'http',
    baseUrl: targets[0] ?? '',
    targets,
    use: (raw.use ?? []).map(moduleUrl),
    concurrency: raw.concurrency ?? 1,
    concurrencyFloor: raw.concurrencyFloor ?? 1,
    bucketConcurrency: raw.bucketConcurrency ?? 1,
    bulkSpreadMs: raw.bulkSpreadMs ?? 0,
    batching: raw.batching ?? false,
    connections: raw.connections ?? 1,
    maxResponseBytes: raw.maxResponseBytes ?? 0,
    timeouts: { connectMs, attemptMs, totalMs },
    retry: raw.retry === 'off' ? 'off' : compileRetry(raw.retry ?? {}, totalMs),
    breaker: raw.breaker === 'off' ? 'off' : compileBreaker(raw.breaker ?? {}),
    probe: compileProbe(raw),
    limits: (raw.limits ?? []).map(compileLimit),
    groups: Object.entries(groups).map(([group, { paths, tier, ...own }]) => ({
      name: group,
      paths,
      tier: tier === undefined ? undefined : compileLimit(tier),
      policies: compileUpstream(name, { ...whole, ...own }),
    })),
    health: raw.health === undefined ? undefined : { ...healthDefaults, ...raw.health },
    fallback: raw.fallback === 'off' ? 'off' : compileFallback(raw.fallback ?? {}),
    cacheMs: raw.cache?.ttlMs ?? 0,
    idempotencyKey: raw.idempotencyKey === undefined ? undefined : { ...idempotencyKeyDefaults, ...raw.idempotencyKey },
  };
}

function compileRetry(raw: Exclude<NonNullable<RawUpstream['retry']>, 'off'>, totalMs: number): RetryOptions {
  const budget = { ...retryDefaults.budget, ...raw.budget };
  return { ...retryDefaults, ...raw, budget, longestVisitMs: totalMs };
}

/** A plain upstream has no token endpoint, so there a probe without a path (a preset's) is none. */
function compileProbe({ breaker, profile }: RawUpstream): ProbeConfig | undefined {
  if (typeof breaker !== 'object' || breaker.probe === undefined) return undefined;
  const { path } = breaker.probe;
  return path === undefined && profile !== 'feishu' ? undefined : { ...probeDefaults, ...breaker.probe, path };
}

function compileLimit(raw: NonNullable<RawUpstream['limits']>[number]): LimitConfig {
  if (raw.perSecond !== undefined) return { limit: raw.perSecond, windowMs: 1_000 };
  if (raw.perMinute !== undefined) return { limit: raw.perMinute, windowMs: 60_000 };
  return { limit: raw.limit ?? 1, windowMs: raw.windowMs ?? 1_000 };
}

function compileFallback(raw: Exclude<NonNullable<RawUpstream['fallback']>, 'off'>): FallbackConfig {
  return {
    cacheTtlMs: raw.cacheTtlMs ?? 0,
    default: 'default' in raw ? { body: raw.default } : undefined,
    afterAttempts: raw.afterAttempts ?? retryDefaults.attemptsInARow - 1,
    writes: raw.writes ?? false,
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}
