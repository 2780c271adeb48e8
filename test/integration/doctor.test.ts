import { afterAll, expect, it } from 'vitest';

import { examine } from '../../src/runtime/doctor.ts';
import { applyPlan, topicPlan } from '../../src/runtime/topics.ts';
import { ConfigFiles } from '../support/config-file.ts';
import { RememberingLogger } from '../support/remembering-logger.ts';
import { KafkaHarness } from '../support/services/kafka-harness.ts';
import { describeWithServices } from '../support/services/provided.ts';
import { SourceReader } from '../support/source-reader.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

describeWithServices('doctor on real services', (brokers, url) => {
  const kafka = new KafkaHarness(brokers);
  afterAll(() => kafka.close());

  const states = async (kafkaBrokers: readonly string[], redisUrl: string) => {
    const { config } = files.load(`
listen: { ingress: "127.0.0.1:0", admin: "127.0.0.1:0" }
kafka: { brokers: ${JSON.stringify(kafkaBrokers)}, topicPrefix: ${kafka.prefix} }
redis: { url: "${redisUrl}" }
`);
    const found = await examine(config, new RememberingLogger());
    return found.map(({ name, state }) => `${name} ${state}`);
  };

  it('misses the topics, and is content once they were applied', async () => {
    expect(await states(brokers, url)).toContain('topics bad');

    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    const after = await states(brokers, url);
    expect(after).toEqual(
      expect.arrayContaining(['kafka ok', 'topics ok', 'redis ok', 'redis-version ok', 'redis-clock ok']),
    );
  });

  it('warns of the group of a profile that is there no more while it has events left', async () => {
    await kafka.write('events', [{ value: Buffer.from('{}') }]);
    const stray = kafka.source('larkspur-worker-gone-routes', ['events'], 'larkspur-worker-routes');
    const reader = new SourceReader(stray.source);
    await reader.until(() => reader.records.length === 1);
    await stray.close();
    const { config } = files.load(`
kafka: { brokers: ${JSON.stringify(brokers)}, topicPrefix: ${kafka.prefix}, group: larkspur-worker }
redis: { url: "${url}" }
`);
    const found = async () =>
      (await examine(config, new RememberingLogger())).filter(({ message }) => message.includes('-gone-'));
    expect(await found()).toMatchObject([
      {
        ...{ name: 'profiles', state: 'warn' },
        message: 'group larkspur-worker-gone-routes has not read 1 events, and no profile has it',
      },
    ]);
    expect(await examine({ ...config, profiles: { gone: ['*'] } }, new RememberingLogger())).not.toContainEqual(
      expect.objectContaining({ name: 'profiles' }),
    );
  }, 60_000);

  it('tells when neither answers', async () => {
    const found = await states(['127.0.0.1:1'], 'redis://127.0.0.1:1');

    expect(found).toEqual(expect.arrayContaining(['kafka bad', 'redis bad']));
  });
});
