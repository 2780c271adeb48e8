import { afterAll, describe, expect, it } from 'vitest';

import { loadConfig } from '../../../src/config/load.ts';
import { ConfigFiles } from '../../support/config-file.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());
const load = files.load.bind(files);
const mistakes = files.mistakes.bind(files);

describe('mistakes', () => {
  it.each([
    ['{}', 'tracing.endpoint (FILE:1): is missing, must be the http:// or https:// address of a collector'],
    [
      '{ endpoint: otel:4318 }',
      'tracing.endpoint (FILE:1): is "otel:4318", must be a text: http:// or https:// address',
    ],
    ['{ endpoint: http://o, sampleRatio: 1.5 }', 'tracing.sampleRatio (FILE:1): is 1.5, must be'],
    [
      '{ endpoint: http://o, withheldFrom: [feishu, newz] }',
      'tracing.withheldFrom[1] (FILE:1): names newz, which is no upstream',
    ],
  ])('name traces that could not go anywhere: %s', (tracing, mistake) => {
    expect(mistakes(`tracing: ${tracing}`)).toEqual([expect.stringContaining(mistake)]);
  });

  it.each([
    ['baseUrl: http://a, targets: [http://a]', 'a.baseUrl (FILE:1): stands beside targets: give one of the two'],
    ['targets: [http://a, http://b, http://a]', 'a.targets[2] (FILE:1): is http://a, which stands in the list before'],
    ['targets: [http://a, http://A//]', 'a.targets[1] (FILE:1): is http://A//, which stands in the list before'],
    [
      'targets: [http://a/v1, http://b/v1/, http://c/v2]',
      'a.targets[2] (FILE:1): has the path /v2, must be that of the first, /v1',
    ],
    ['cache: {}, baseUrl: http://a', 'a.cache.ttlMs (FILE:1): is missing'],
    ['baseUrl: http://a, concurrency: 3, concurrencyFloor: 4', 'a.concurrencyFloor (FILE:1): is 4, must not be above'],
  ])('name what does not fit together at an upstream: %s', (upstream, mistake) => {
    expect(mistakes(`upstreams: { a: { ${upstream} } }`)).toEqual([expect.stringContaining(mistake)]);
  });

  it.each(['apps: &a [*a]', 'upstreams: &a { feishu: *a }'])('name a file that holds itself: %s', (yaml) => {
    expect(mistakes(yaml)).toEqual([expect.stringContaining('holds itself or expands too far')]);
  });

  it.each([
    ['news: { baseUrl: http://n, batching: true }', 'upstreams.news.batching (FILE:1): is only for profile feishu'],
    ['feishu: { batching: true, use: [./m.js] }', 'upstreams.feishu.batching (FILE:1): does not go with use'],
    ['feishu: { idempotencyKey: {} }', 'upstreams.feishu.idempotencyKey (FILE:1): is only for profile http'],
    [
      'news: { baseUrl: "http://n", idempotencyKey: { header: Authorization } }',
      'upstreams.news.idempotencyKey.header (FILE:1): is Authorization, which has its own meaning',
    ],
    [
      'news: { baseUrl: "http://n", idempotencyKey: { header: "a b", windowMs: 0 } }',
      'upstreams.news.idempotencyKey.header (FILE:1): is "a b", must be a text: request header that carries the key',
    ],
  ])('name what an upstream of that kind cannot have: %s', (upstream, mistake) => {
    expect(mistakes(`upstreams: { ${upstream} }`)[0]).toContain(mistake);
  });

  it('name apps whose tokens could not be kept sealed', () => {
    const apps =
      '[{ id: cli_s, secret: s, kind: store }, { id: cli_o, secret: s, oauth: { redirectUri: "https://l/cb" } }]';
    expect(mistakes(`apps: ${apps}`)).toEqual([
      'apps[0] (FILE:1): needs tokenKey: its tickets are kept sealed',
      'apps[1] (FILE:1): needs tokenKey: tokens of users are kept sealed',
    ]);
    expect(mistakes(`tokenKey: ${'k'.repeat(32)}\napps: ${apps}`)).toEqual([]);
  });

  it('name clients who share a name or a token, and apps and upstreams that are not there', () => {
    const yaml = `
adminToken: aaaaaaaaaaaaaaaa
apps: [{ id: cli_a, secret: s }]
clients:
  - { name: a, token: aaaaaaaaaaaaaaaa, apps: [cli_b] }
  - { name: a, token: bbbbbbbbbbbbbbbb, upstreams: [feishu, nope] }`;
    expect(mistakes(yaml)).toEqual([
      'clients[0].token (FILE:5): is the token of somebody else, too',
      'clients[0].apps (FILE:5): names cli_b, which is no id of apps',
      'clients[1].name (FILE:6): is a, which stands in the list before',
      'clients[1].upstreams (FILE:6): names nope, which is no upstream',
    ]);
  });

  it('are listed all at once, each with path, line, value and what is allowed', () => {
    const yaml = `
kafka: { brokers: ["a:1,b:2", "[::1]:9092", "x:99999", "c"], topicPrefx: l. }
listen: { ingress: 0.0.0.0:8080, admin: nowhere }
apps:
  - { id: cli_a1, secret: "\${MISSING_SECRET}" }
  - { id: cli_a2 }
upstreams:
  Bad Name: {}
  news:
    baseUrl: ftp://news
    timeouts: { connectMs: 5000, attemptMs: 3000 }
    retry: { maxAttempts: 0, jitter: { proportional: 2 } }
    breaker: on
    limits: [{ perSecond: 5, perMinute: 3 }]
  stock:
    baseUrl: http://s
    preset: gatway
    retry: { maxAtempts: 3 }
    breaker: { consecutiveFailures: 0, failureRatio: 0.9, adaptive: { max: 0.7 }, minCalls: 1.5 }
  ip: {}
worker: { inFlight: many, ring: { highItems: 2000 } }
logLevel: loud
`;

    expect(mistakes(yaml)).toEqual([
      'apps[0].secret (FILE:5, env MISSING_SECRET): needs the environment variable MISSING_SECRET',
      'kafka.topicPrefx (FILE:2): is not a known key; did you mean topicPrefix?',
      ...['a:1,b:2', '[::1]:9092', 'x:99999', 'c'].map(
        (broker, index) =>
          `kafka.brokers[${index}] (FILE:2): is "${broker}", must be a text: host:port, one per entry, no IPv6 literal`,
      ),
      'listen.admin (FILE:3): is "nowhere", must be a text: host:port, port 0 for a free one',
      'apps[1].secret (FILE:6): is missing, must be a text: app secret',
      'upstreams.Bad Name (FILE:8): is not a name that is allowed here (APIs by name: small letters, digits, dash, underscore)',
      'upstreams.news.baseUrl (FILE:10): is "ftp://news", must be a text: http:// or https:// address without user, query and fragment',
      'upstreams.news.retry.maxAttempts (FILE:12): is 0, must be a whole number from 1 to 1000',
      'upstreams.news.retry.jitter (FILE:12): is a section, must be full, equal, { proportional: 0..1 } or { additive: ms }',
      expect.stringMatching(
        /^upstreams\.news\.breaker \(FILE:13\): is "on", must be off or a section with window, mode/,
      ),
      'upstreams.stock.preset (FILE:17): is "gatway", must be bot or sdk or platform or gateway',
      'upstreams.stock.retry.maxAtempts (FILE:18): is not a known key; did you mean maxAttempts?',
      'upstreams.stock.breaker.minCalls (FILE:19): is 1.5, must be off or a whole number from 1 to 1000000',
      'upstreams.stock.breaker.consecutiveFailures (FILE:19): is 0, must be off or a whole number from 1 to 1000000',
      'worker.inFlight (FILE:21): is "many", must be a whole number from 1 to 10000',
      'logLevel (FILE:22): is "loud", must be debug or info or warn or error or silent',
      'redis: is missing: with Kafka the claims live in Redis, give redis.url',
      'listen.ingress (FILE:3): is 0.0.0.0:8080, reachable from other machines: that needs adminToken (or LARKSPUR_ADMIN_TOKEN)',
      'worker.ring.highItems (FILE:21): is 2000, must not be above worker.ring.capacity (1024)',
      'upstreams.news.timeouts.connectMs (FILE:11): is 5000, must not be above upstreams.news.timeouts.attemptMs (3000)',
      'upstreams.news.limits[0] (FILE:14): has perMinute and perSecond, must be { perSecond }, { perMinute } or { limit, windowMs }',
      'upstreams.stock.breaker.failureRatio (FILE:19): is 0.9, must not be above upstreams.stock.breaker.adaptive.max (0.7)',
      'upstreams.ip.baseUrl (FILE:20): is missing, must be an http:// or https:// address',
    ]);
  });

  it.each([
    ['a: b: c', /larkspur\.yaml:1:\d+: /],
    ['listen: {\n  ingress: 127.0.0.1:1', /larkspur\.yaml:2:\d+: /],
    ['data: a\ndata: b', /larkspur\.yaml:2:1: Map keys must be unique/],
    ['data: *nobody', /larkspur\.yaml: an alias/],
    ['- a', /must be a map/],
    ['just a text', /must be a map/],
  ])('of YAML come with line and column: %j', (yaml, expected) => {
    expect(() => load(yaml)).toThrow(expected);
  });

  it.each([
    [
      'apps: [{ id: a, secret: x }, { id: a, secret: y }]',
      'apps[1].id (FILE:1): is a, which stands in the list before',
    ],
    [
      'listen: { ingress: "127.0.0.1:1", admin: "127.0.0.1:1" }',
      'listen.admin (FILE:1): is 127.0.0.1:1, the same as listen.ingress',
    ],
    ['{ kafka: {}, redis: { url: "redis://r" } }', 'kafka.brokers (FILE:1): is missing, must be a list of host:port'],
    ['redis: {}', 'redis.url (FILE:1): is missing, must be a redis:// or rediss:// address'],
    [
      '{ kafka: { brokers: [a:1], ssl: { caFile: /nowhere } }, redis: { url: "redis://r" } }',
      'kafka.ssl.caFile (FILE:1): is /nowhere, which cannot be read',
    ],
    [
      '{ kafka: { brokers: [a:1], sasl: { mechanism: plain, username: u } }, redis: { url: "redis://r" } }',
      'kafka.sasl.password (FILE:1): is missing',
    ],
    [
      'worker: { claims: { renewMs: 20000 } }',
      'worker.claims.renewMs (FILE:1): is 20000, must not be above half of worker.claims.leaseMs (15000)',
    ],
    [
      'upstreams: { a: { baseUrl: "http://a", fallback: { afterAttempts: 9 }, retry: { maxAttempts: 3 } } }',
      'upstreams.a.fallback.afterAttempts (FILE:1): is 9, must not be above upstreams.a.retry.maxAttempts (3)',
    ],
    [
      'upstreams: { a: { baseUrl: "http://a", breaker: { probes: 2, successesInARow: 3 } } }',
      'upstreams.a.breaker.successesInARow (FILE:1): is 3, must not be above upstreams.a.breaker.probes (2)',
    ],
    [
      `previousTokenKey: ${'o'.repeat(32)}`,
      'previousTokenKey (FILE:1): is of no use alone: it only opens what was sealed before, give tokenKey, too',
    ],
  ])('between values are found: %s', (yaml, expected) => {
    expect(mistakes(yaml)).toEqual([expected]);
  });

  it('name a secret file that cannot be read', () => {
    expect(mistakes('adminToken: "${T}"', { T_FILE: '/nowhere/token' })).toEqual([
      'adminToken (FILE:1, env T): T_FILE names /nowhere/token, which cannot be read',
    ]);
  });

  it('name a file that is not there', () => {
    expect(() => loadConfig({ file: '/nowhere/larkspur.yaml', env: {} })).toThrow(
      /nowhere\/larkspur.yaml cannot be read/,
    );
  });

  it('are config_invalid with a cure', () => {
    expect(() => load('x: 1')).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        cure: expect.stringContaining('config check') as string,
      }) as Error,
    );
  });
});
