import type { RouteSpec } from '../model/route.ts';
import type { BreakerOptions } from '../operators/breaker/options.ts';
import type { RetryOptions } from '../operators/retry/options.ts';

import type { Playbook } from './playbooks.ts';
import type { SloConfig } from './slos.ts';

/** A host and a port; port 0 takes a free one. */
export interface Address {
  /** Without the brackets of an IPv6 literal. */
  readonly host: string;
  readonly port: number;
}

/** How to reach Kafka. */
export interface KafkaConfig {
  readonly brokers: readonly string[];
  readonly topicPrefix: string;
  readonly group: string;
  readonly clientId: string;
  /** A worker that is silent for so long loses its partitions. */
  readonly sessionTimeoutMs: number;
  /** PEM texts, `undefined` for plain text; an empty object trusts the system's authorities. */
  readonly ssl: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  readonly sasl:
    | {
        readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
        readonly username: string;
        readonly password: string;
      }
    | undefined;
}

/** One Feishu app. */
interface AppConfig {
  readonly id: string;
  readonly secret: string;
  readonly kind?: 'self-built' | 'store';
  /** Lets users consent to calls in their name. */
  readonly oauth?:
    { readonly redirectUri: string; readonly scopes: readonly string[]; readonly accountsUrl: string } | undefined;
  /** Its events and callbacks come over a connection that each ingress opens, beside its doors. */
  readonly longConnection?: boolean;
  readonly encryptKey: string | undefined;
  readonly verificationToken: string | undefined;
  /** Those that still count while they are replaced. */
  readonly previousEncryptKey?: string | undefined;
  readonly previousVerificationToken?: string | undefined;
}

/** Events of Feishu that come over HTTP. All times in milliseconds. */
interface EventsConfig {
  /** How long an event is known. */
  readonly dedupeMs: number;
  /** How old and how far ahead a signed timestamp may be. */
  readonly maxAgeMs: number;
  readonly clockSkewMs: number;
  /** How long a delivery waits for its event to be stored. */
  readonly patienceMs: number;
  /** Deliveries that are not stored yet. */
  readonly maxHeld: number;
  readonly maxHeldBytes: number;
}

/** At most `limit` calls start in any window of `windowMs`. Same shape as the port's RateWindow. */
export interface LimitConfig {
  readonly limit: number;
  readonly windowMs: number;
}

/** What answers when there is no live answer. */
export interface FallbackConfig {
  /** How old a last good answer may be; 0: none is kept. */
  readonly cacheTtlMs: number;
  /** Static answer, wrapped so that `null` can be one; `undefined`: none. */
  readonly default: { readonly body: unknown } | undefined;
  /** Failed attempts before the one whose failure it answers. */
  readonly afterAttempts: number;
  /** Whether it stands in for calls that change something, too. */
  readonly writes: boolean;
}

/** The request that tells whether an upstream is back. */
export interface ProbeConfig {
  /** `undefined`: the token endpoint of Feishu. */
  readonly path: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly expect: number;
  readonly withinMs: number;
  readonly minExpireS: number;
}

/** Some of an upstream's APIs, with numbers of their own. */
export interface GroupConfig {
  readonly name: string;
  /** Patterns of paths, `*` for any characters; `undefined`: any. */
  readonly paths: readonly string[] | undefined;
  /** A window of the documented tier; `undefined`: any tier. */
  readonly tier: LimitConfig | undefined;
  /** As its upstream, but for what the group has of its own. */
  readonly policies: UpstreamConfig;
}

/** One API that calls go to. */
export interface UpstreamConfig {
  readonly name: string;
  readonly profile: 'feishu' | 'http';
  /** Without a trailing slash; may hold a path that all calls get in front. */
  readonly baseUrl: string;
  /** Equal addresses, the first of which is `baseUrl`; one chosen by health for each attempt. */
  readonly targets: readonly string[];
  /** Modules with operators of its owner, file URLs. */
  readonly use: readonly string[];
  /** Calls in flight at once, in this process. */
  readonly concurrency: number;
  /** How far timeouts narrow that. */
  readonly concurrencyFloor: number;
  /** Calls in flight at once per quota bucket, in this process. */
  readonly bucketConcurrency: number;
  /** Bulk calls that come at a full or half hour are spread over so long after it; 0: they are not. */
  readonly bulkSpreadMs: number;
  /** Whether calls that would wait for quota go in one request where their API has one that gives many. */
  readonly batching: boolean;
  /** Open sockets. */
  readonly connections: number;
  /** A longer answer ends as `response_too_large`. */
  readonly maxResponseBytes: number;
  /** connect <= attempt <= total. `totalMs` bounds the attempts made one after another; then the call is held. */
  readonly timeouts: { readonly connectMs: number; readonly attemptMs: number; readonly totalMs: number };
  readonly retry: RetryOptions | 'off';
  readonly breaker: BreakerOptions | 'off';
  /** `undefined`: calls themselves find out. */
  readonly probe: ProbeConfig | undefined;
  readonly limits: readonly LimitConfig[];
  /** Of several that a call fits the first counts. */
  readonly groups: readonly GroupConfig[];
  /** A GET that tells people how it is; `undefined`: nobody asks. */
  readonly health: { readonly path: string; readonly intervalMs: number; readonly timeoutMs: number } | undefined;
  readonly fallback: FallbackConfig | 'off';
  /** How long a good answer to a read serves later ones without a call, milliseconds; 0: not at all. */
  readonly cacheMs: number;
  /** How the upstream recognises a repeated POST or PATCH; `undefined`: it does not. */
  readonly idempotencyKey: { readonly header: string; readonly windowMs: number } | undefined;
}

/** Routes that are kept beside the configuration. All times in milliseconds. */
export interface RouteTableConfig {
  readonly source:
    | { readonly kind: 'file'; readonly file: string }
    | { readonly kind: 'mysql'; readonly url: string; readonly table: string };
  readonly timeoutMs: number;
  readonly exportMs: number;
  readonly sharedMs: number;
  readonly freshMs: number;
  readonly entries: number;
  readonly bytes: number;
}

/** Sizes and times of the pipeline. */
export interface WorkerConfig {
  readonly inFlight: number;
  readonly ring: {
    /** Power of two. */
    readonly capacity: number;
    readonly highItems: number;
    readonly lowItems: number;
    readonly highBytes: number;
    readonly lowBytes: number;
    /** Over all partitions of the process. */
    readonly totalBytes: number;
  };
  readonly lanes: {
    /** Records waiting between ring and attempt, over all partitions. */
    readonly items: number;
    /** What a tenant has beyond its share of them goes to a delay topic, or its partition waits. */
    readonly whenFull: 'park' | 'pause';
  };
  readonly claims: {
    readonly leaseMs: number;
    readonly renewMs: number;
    readonly ttlMs: number;
    /** For APIs without an idempotency key. */
    readonly unkeyedTtlMs: number;
  };
  readonly commit: {
    readonly intervalMs: number;
    readonly everyDone: number;
  };
  /** How much the log says about how records end. */
  readonly outcomeLines: {
    /** Of the calls that went well, 0 to 1. */
    readonly successShare: number;
    /** Of one kind of other ending. */
    readonly perSecond: number;
  };
}

/** Faults on purpose. */
export interface ChaosConfig {
  /** Whether calls of this process may meet any. */
  readonly injectFaults: boolean;
  /** JSON or YAML with rules, looked at each second. */
  readonly faultsFile: string | undefined;
}

/** Where claims and quota of several workers live. */
export interface RedisConfig {
  readonly url: string;
  readonly cluster: boolean;
  readonly keyPrefix: string;
  /** How many replicas must have the claim of a call without a platform key before it goes out. */
  readonly replicas: number;
  readonly replicasWaitMs: number;
  /** Longest wait for an answer, milliseconds. */
  readonly timeoutMs: number;
}

/** Somebody who hands in calls. What is `undefined` is not limited. */
export interface ClientConfig {
  readonly name: string;
  readonly token: string;
  readonly apps: readonly string[] | undefined;
  readonly upstreams: readonly string[] | undefined;
  /** At one process. */
  readonly perSecond: number | undefined;
}

/** Where traces go. */
export interface TracingConfig {
  /** The collector's address for OTLP over HTTP. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** Of the traces that begin here, 0 to 1. */
  readonly sampleRatio: number;
  /** Upstreams that are told of no trace. */
  readonly withheldFrom: readonly string[];
}

/** How much is logged. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** The configuration, checked and complete. Frozen. */
export interface Config {
  /** `undefined`: embedded mode. */
  readonly kafka: KafkaConfig | undefined;
  /** Present whenever `kafka` is. */
  readonly redis: RedisConfig | undefined;
  readonly listen: { readonly ingress: Address; readonly admin: Address };
  readonly adminToken: string | undefined;
  /** Keys that seal what is kept, the current one first; empty: tokens are not shared, users and store apps not served. */
  readonly tokenKeys: readonly string[];
  /** Who hands in calls over HTTP under a token of its own. */
  readonly clients: readonly ClientConfig[];
  /** Folder of the embedded store, or `memory`. */
  readonly data: string;
  readonly apps: readonly AppConfig[];
  /** By name; `feishu` is always among them. Has no prototype, so any name may be looked up. */
  readonly upstreams: Readonly<Record<string, UpstreamConfig>>;
  readonly events: EventsConfig;
  /** Workers that run some routes in a group of their own: by name which ones, as patterns. */
  readonly profiles: Readonly<Record<string, readonly string[]>>;
  readonly routes: readonly RouteSpec[];
  /** `undefined`: there are no others. */
  readonly routeTable: RouteTableConfig | undefined;
  /** What is promised of upstreams and routes. */
  readonly slos: readonly SloConfig[];
  readonly worker: WorkerConfig;
  /** `undefined`: nothing is traced. */
  readonly tracing: TracingConfig | undefined;
  readonly playbooks: readonly Playbook[];
  readonly chaos: ChaosConfig;
  /** Members of JSON bodies that nobody gets to see in results, messages and pages. */
  readonly maskFields: readonly string[];
  readonly logLevel: LogLevel;
  readonly drainMs: number;
}
