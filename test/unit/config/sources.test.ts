import { afterAll, describe, expect, it } from 'vitest';

import { ConfigFiles } from '../../support/config-file.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());
const load = files.load.bind(files);

describe('where a value comes from', () => {
  const yaml = `
data: from-file
logLevel: warn
kafka: { brokers: [file:1] }
redis: { url: "redis://file" }
`;
  const env = { LARKSPUR_KAFKA_BROKERS: 'a:1, b:2', LARKSPUR_REDIS_URL: 'redis://env', LARKSPUR_DATA: 'from-env' };

  it('command line over environment over file over default', () => {
    const { config, sources } = load(yaml, { env, flags: { data: 'from-flag' } });

    expect(config).toMatchObject({
      data: 'from-flag',
      kafka: { brokers: ['a:1', 'b:2'], topicPrefix: 'larkspur.' },
      redis: { url: 'redis://env' },
      logLevel: 'warn',
    });
    expect(['data', 'kafka.brokers[1]', 'redis.url', 'kafka.topicPrefix'].map((at) => sources.get(at))).toEqual([
      'flag --data',
      'env LARKSPUR_KAFKA_BROKERS',
      'env LARKSPUR_REDIS_URL',
      'default',
    ]);
    expect(sources.get('logLevel')).toMatch(/larkspur\.yaml:3$/);
  });

  it('replaces ${NAME}, ${NAME:-default} and takes NAME_FILE for a secret; $${ stays', () => {
    const secretFile = files.write('from-a-file\n', 'secret.txt');
    const { config, sources } = load(
      `
apps: [{ id: "cli_\${ID}", secret: "\${SECRET}", encryptKey: "\${KEY:-fallback}", verificationToken: "$\${x}" }]
worker: { inFlight: "\${IN_FLIGHT}" }
kafka: { brokers: [a:1], ssl: "\${SSL}" }
redis: { url: "redis://r" }
`,
      { env: { ID: 'a1', SECRET_FILE: secretFile, IN_FLIGHT: '64', SSL: 'true', KEY: '' } },
    );

    expect(config.apps).toMatchObject([
      { id: 'cli_a1', secret: 'from-a-file', kind: 'self-built', encryptKey: 'fallback', verificationToken: '${x}' },
    ]);
    expect(config.worker.inFlight).toBe(64);
    expect(config.kafka?.ssl).toEqual({});
    expect(sources.get('apps[0].secret')).toMatch(/:2, env SECRET$/);
  });

  it('names the preset a value comes from', () => {
    const { sources } = load('upstreams: { a: { preset: gateway, baseUrl: "http://a" } }');

    expect(sources.get('upstreams.a.retry.baseMs')).toBe('preset gateway');
    expect(sources.get('upstreams.a.retry.floorMs')).toBe('default');
  });

  it('reads the PEM files that ssl names', () => {
    const caFile = files.write('PEM TEXT', 'ca.pem');
    const { config } = load(`{ kafka: { brokers: [a:1], ssl: { caFile: "${caFile}" } }, redis: { url: "redis://r" } }`);

    expect(config.kafka?.ssl).toEqual({ ca: 'PEM TEXT' });
  });
});

describe('warnings', () => {
  it('name settings without effect', () => {
    const { warnings } = load(`
routes: [{ on: a, http: "http://a" }, { on: b, http: "http://b" }]
upstreams:
  a: { targets: ["http://a", "http://b"], health: { path: /h, intervalMs: 1000 }, breaker: { mode: exact }, use: [x] }
redis: { url: "redis://r" }
`);

    expect(warnings).toEqual(['redis is not used without kafka: embedded mode keeps its claims in the data folder']);
  });
});
