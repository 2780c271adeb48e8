import { afterAll, describe, expect, it } from 'vitest';

import { describe as describeConfig, secretsOf } from '../../../src/config/describe.ts';
import { ConfigFiles } from '../../support/config-file.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());
const load = files.load.bind(files);

describe('secrets', () => {
  const secret = 'Hunter2Hunter2';
  const yaml = `
adminToken: ${secret}
kafka: { brokers: [a:1], sasl: { mechanism: plain, username: u, password: ${secret} } }
redis: { url: "rediss://user:${secret}@r:6379/0?password=${secret}" }
apps: [{ id: a, secret: ${secret}, encryptKey: ${secret}, verificationToken: "\${FROM_ENV}" }]
upstreams: { a: { baseUrl: "http://a", breaker: { probe: { path: /, headers: { x-auth: ${secret} } } } } }
tracing: { endpoint: "http://o", headers: { x-key: ${secret} } }
`;

  it('are masked by describe, which still shows what is no secret', () => {
    const lines = describeConfig(load(yaml, { env: { FROM_ENV: secret } }));

    expect(JSON.stringify(lines)).not.toContain(secret);
    expect(lines).toContainEqual(
      expect.objectContaining({ path: 'redis.url', value: '"rediss://***@r:6379/0?password=***"' }),
    );
    expect(lines).toContainEqual(expect.objectContaining({ path: 'kafka.sasl.username', value: '"u"' }));
    expect(lines).toContainEqual(expect.objectContaining({ path: 'adminToken', value: '***' }));
  });

  it('are known to who keeps them out of the log', () => {
    expect(secretsOf(load(yaml, { env: { FROM_ENV: 'other-secret' } }))).toEqual(
      expect.arrayContaining([secret, 'other-secret']),
    );
  });

  it.each([
    `adminToken: [${secret}]`,
    `adminToken: "${secret} with blank"`,
    `apps: [{ id: a, secret: { x: ${secret} } }]`,
    `apps: ${secret}: ${secret}`,
    `redis: { url: "http://u:${secret}@r" }`,
    `kafka: { brokers: ["u:${secret}@r:1"], sasl: { password: 5 } }`,
    `upstreams: { a: { baseUrl: "https://u:${secret}@a/" } }`,
    `secret: "${secret}`,
    `adminToken: "${secret}" "${secret}"`,
    `data: &a ${secret}\nsecrets: *b`,
  ])('stand in no mistake: %s', (text) => {
    let message = '';
    try {
      load(text);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).not.toBe('');
    expect(message).not.toContain(secret);
  });
});
