import { afterAll, describe, expect, it } from 'vitest';

import { ConfigFiles } from '../../support/config-file.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

describe('mistakes in how Kafka and Redis are reached', () => {
  it.each([
    ['certFile', 'keyFile'],
    ['keyFile', 'certFile'],
  ])('name half of a client certificate: %s alone', (given, missing) => {
    const yaml = `{ kafka: { brokers: [a:1], ssl: { ${given}: /dev/null } }, redis: { url: "redis://r" } }`;
    expect(files.mistakes(yaml)).toEqual([`kafka.ssl.${missing} (FILE:1): is missing: ${given} is of no use alone`]);
  });

  it('name a wait for replicas that the time for an answer would always cut off', () => {
    const yaml = (redis: string) => `{ kafka: { brokers: [a:1] }, redis: { url: "redis://r", ${redis} } }`;
    expect(files.mistakes(yaml('replicas: 1, timeoutMs: 50'))).toEqual([
      'redis.replicasWaitMs (FILE:1): is 50, must be below redis.timeoutMs (50)',
    ]);
    expect(() => files.load(yaml('timeoutMs: 50'))).not.toThrow();
    expect(() => files.load(yaml('replicas: 1, timeoutMs: 51'))).not.toThrow();
  });
});
