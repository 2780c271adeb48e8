import { afterAll, describe, expect, it } from 'vitest';

import { ConfigFiles } from '../../support/config-file.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());
const load = files.load.bind(files);
const mistakes = files.mistakes.bind(files);

describe('loadConfig', () => {
  it('needs nothing: embedded mode, with Feishu as upstream', () => {
    const { config, warnings } = load('');

    expect(config).toMatchObject({
      kafka: undefined,
      redis: undefined,
      listen: { ingress: { host: '127.0.0.1', port: 8080 }, admin: { host: '127.0.0.1', port: 9464 } },
      data: '.larkspur/data',
      apps: [],
      logLevel: 'info',
      drainMs: 20_000,
      worker: { inFlight: 256, ring: { capacity: 1024, highItems: 128, lowItems: 32 } },
    });
    expect(config.upstreams['feishu']).toMatchObject({ profile: 'feishu', baseUrl: 'https://open.feishu.cn' });
    expect(warnings).toEqual([]);
  });

  it.each([
    ['', 'https://accounts.feishu.cn'],
    ['upstreams: { feishu: { baseUrl: "https://open.larksuite.com" } }', 'https://accounts.larksuite.com'],
    ['upstreams: { feishu: { baseUrl: "https://larksuite.com.example" } }', 'https://accounts.feishu.cn'],
  ])('asks users for their consent where the tokens come from: %s', (upstreams, accountsUrl) => {
    const app = (more = ''): string => `
apps: [{ id: cli_a, secret: s, oauth: { redirectUri: "https://me.example/oauth/cli_a/callback"${more} } }]
tokenKey: ${'k'.repeat(32)}
${upstreams}`;
    const page = (yaml: string) => load(yaml).config.apps[0]?.oauth?.accountsUrl;

    expect(page(app())).toBe(accountsUrl);
    expect(page(app(', accountsUrl: "https://accounts.example"'))).toBe('https://accounts.example');
  });

  it('is frozen to the last value', () => {
    const { config } = load('upstreams: { news: { baseUrl: "http://news" } }');

    expect(() => Object.assign(config.worker.ring, { capacity: 1 })).toThrow(TypeError);
    expect(() => Object.assign(config.upstreams['news']!.limits, { 0: {} })).toThrow(TypeError);
  });

  it('finds no upstream under the names that every object has', () => {
    const { upstreams } = load('').config;

    for (const name of ['constructor', 'toString', '__proto__']) expect(upstreams[name]).toBeUndefined();
  });

  it('compiles an upstream as it is written', () => {
    const { config } = load(`
upstreams:
  news:
    baseUrl: http://news.internal/v2/
    concurrency: 5
    timeouts: { connectMs: 900, attemptMs: 3000, totalMs: 9000 }
    retry: { maxAttempts: 3, baseMs: 100, capMs: 2000, jitter: { additive: 200 } }
    breaker: { consecutiveFailures: 5, failureRatio: 0.4, coolDownMs: 60000, closeWhen: { p95Ms: 120 } }
    limits: [{ perSecond: 100 }, { perMinute: 1000 }, { limit: 3, windowMs: 250 }]
    fallback: { cacheTtlMs: 300000, default: null }
  plain: { baseUrl: "http://plain", retry: off, breaker: off, fallback: off }
`);

    expect(config.upstreams['news']).toMatchObject({
      profile: 'http',
      baseUrl: 'http://news.internal/v2',
      concurrency: 5,
      connections: 5,
      timeouts: { connectMs: 900, attemptMs: 3_000, totalMs: 9_000 },
      retry: {
        maxAttempts: 3,
        attemptsInARow: 3,
        baseMs: 100,
        capMs: 2_000,
        jitter: { additive: 200 },
        longestVisitMs: 9_000,
      },
      breaker: {
        consecutiveFailures: 5,
        failureRatio: 0.4,
        coolDownMs: 60_000,
        maxOpenMs: 60_000,
        closeP95Ms: 120,
        probeLeaseMs: 8_000,
      },
      limits: [
        { limit: 100, windowMs: 1_000 },
        { limit: 1_000, windowMs: 60_000 },
        { limit: 3, windowMs: 250 },
      ],
      fallback: { cacheTtlMs: 300_000, default: { body: null }, afterAttempts: 2, writes: false },
    });
    expect(config.upstreams['plain']).toMatchObject({ retry: 'off', breaker: 'off', fallback: 'off' });
  });

  it('S002-04: gives every upstream timeouts, 3 s per attempt unless told otherwise, and takes none away', () => {
    expect(load('upstreams: { a: { baseUrl: "http://a" } }').config.upstreams['a']?.timeouts.attemptMs).toBe(3_000);
    for (const none of ['0', '-1', 'off', '.inf', 'null', '""']) {
      const lines = mistakes(`upstreams: { a: { baseUrl: "http://a", timeouts: { attemptMs: ${none} } } }`);
      expect(lines).toEqual([expect.stringContaining('must be a whole number from 1 to 86400000')]);
    }
  });

  it('never contradicts a written value by a default', () => {
    const { config } = load(`
upstreams:
  a: { baseUrl: "http://a", timeouts: { totalMs: 500 } }
  b: { baseUrl: "http://b", timeouts: { attemptMs: 60000 }, retry: { baseMs: 20000 } }
  c: { baseUrl: "http://c", breaker: { probes: 1, failureRatio: 0.9 }, concurrency: 2, retry: { capMs: 10 } }
`);

    expect(config.upstreams['a']?.timeouts).toEqual({ connectMs: 500, attemptMs: 500, totalMs: 500 });
    expect(config.upstreams['b']).toMatchObject({ timeouts: { totalMs: 60_000 }, retry: { capMs: 20_000 } });
    expect(config.upstreams['c']).toMatchObject({
      breaker: { probesToClose: 1, adaptive: { max: 0.9 } },
      bucketConcurrency: 2,
      retry: { baseMs: 10, floorMs: 10 },
    });
  });

  it('rounds the ring up to a power of two', () => {
    expect(load('worker: { ring: { capacity: 1025 } }').config.worker.ring.capacity).toBe(2_048);
  });
});
