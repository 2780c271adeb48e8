import { setTimeout as sleep } from 'node:timers/promises';

import kafkajs, { type Admin } from 'kafkajs';
import { lastValueFrom } from 'rxjs';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { KafkaReader } from '../../../src/adapters/kafka/reader.ts';
import { createKafkaSink, type KafkaSink } from '../../../src/adapters/kafka/sink.ts';
import { only } from '../../support/only.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { LocalKafka } from '../../support/services/local-kafka.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, Kafka, logLevel, ResourcePatternTypes } = kafkajs;

// kafkajs on its own renews a session ten seconds before its end, and fails all requests of one that is shorter.
const sessionMs = 4_000;
const login = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_app="app-secret";';
const settings = {
  'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,OUTSIDE:SASL_PLAINTEXT',
  'listener.name.outside.sasl.enabled.mechanisms': 'PLAIN',
  'listener.name.outside.plain.sasl.jaas.config': login,
  'listener.name.outside.plain.connections.max.reauth.ms': String(sessionMs),
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'super.users': 'User:ANONYMOUS',
};

// A broker of its own, which a user may only enter by name.
describeWithKafka('a broker that asks who comes', () => {
  let link: TcpProxy;
  let broker: LocalKafka;
  let kafka: KafkaHarness;
  let admin: Admin;
  let far: { brokers: string[]; clientId: string; sasl: { mechanism: 'plain'; username: string; password: string } };
  let sink: KafkaSink;

  beforeAll(async () => {
    link = await TcpProxy.open();
    broker = new LocalKafka({ through: link.port, settings });
    await broker.start();
    link.to(broker.outsidePort);
    kafka = new KafkaHarness(broker.brokers);
    admin = new Kafka({ brokers: broker.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const sasl = { mechanism: 'plain', username: 'app', password: 'app-secret' } as const;
    far = { brokers: [`127.0.0.1:${link.port}`], clientId: 'far', sasl };
    sink = createKafkaSink({ ...kafka.sinkOptions, client: far });
  });
  afterAll(async () => {
    await Promise.all([sink.close(), kafka.close(), admin.disconnect()]);
    await broker.stop();
    await link.close();
  });

  const allow = (type: 'TOPIC' | 'GROUP', name: string, operation: 'READ' | 'WRITE' | 'DESCRIBE') =>
    admin.createAcls({
      acl: [
        {
          resourceType: AclResourceTypes[type],
          resourceName: name,
          resourcePatternType: ResourcePatternTypes.LITERAL,
          principal: 'User:app',
          host: '*',
          operation: AclOperationTypes[operation],
          permissionType: AclPermissionTypes.ALLOW,
        },
      ],
    });
  const told = (code: string): number =>
    kafka.logger.lines.filter(({ level, fields }) => level !== 'debug' && fields['code'] === code).length;
  const write = (topic: string, value: string) =>
    only(sink.append({ topic, key: null, value: Buffer.from(value), headers: [] }));

  it('K28: topic and group that are denied are named with a cure, not stormed, and all goes on once they are allowed', async () => {
    const topic = await kafka.topic(1);
    const full = kafka.prefix + topic;
    const group = kafka.unique('group');
    const source = kafka.member(group, [topic], { client: far, lives: { deniedMs: 2_000 } });
    const reader = new SourceReader(source);
    await reader.until(() => kafka.logger.text.includes('hidden from this user'));
    await allow('TOPIC', full, 'DESCRIBE');
    const acked = write(topic, 'one');
    await reader.until(
      () => told('kafka_denied') > 0 || kafka.logger.text.includes('grant the user READ on the group'),
      40_000,
    );
    await allow('GROUP', group, 'READ');
    await reader.until(() => told('kafka_denied') > 0, 40_000);
    const before = kafka.logger.lines.length;
    await sleep(3_000);
    expect(kafka.logger.lines.slice(before).filter(({ level }) => level === 'error').length).toBeLessThan(15);
    expect([reader.error, source.ready()]).toEqual([undefined, false]);
    await allow('TOPIC', full, 'READ');
    await allow('TOPIC', full, 'WRITE');
    await acked;
    await reader.until(() => reader.values.includes('one') && source.ready(), 40_000);
    await source.close();
  }, 180_000);

  it('tells who reads a topic beside all groups that its group is denied, and lives on', async () => {
    const topic = await kafka.topic(1);
    for (const operation of ['DESCRIBE', 'READ', 'WRITE'] as const)
      await allow('TOPIC', kafka.prefix + topic, operation);
    await write(topic, 'one');
    // A rejection that nobody waits for would fail this run, as it would end a worker.
    const reader = new KafkaReader({ ...kafka.sinkOptions, client: far });
    await expect(lastValueFrom(reader.scan(topic))).rejects.toMatchObject({
      code: 'kafka_unavailable',
      cure: expect.stringContaining('READ on the group') as string,
    });
  }, 60_000);

  it('K29: sessions that end after seconds are renewed: reading, writing and commits go on through several', async () => {
    const topic = await kafka.topic(1);
    const full = kafka.prefix + topic;
    const group = kafka.unique('group');
    for (const operation of ['DESCRIBE', 'READ', 'WRITE'] as const) await allow('TOPIC', full, operation);
    await allow('GROUP', group, 'READ');
    const source = kafka.member(group, [topic], { client: far });
    const reader = new SourceReader(source);
    await reader.until(() => reader.partitions.length === 1);
    const untilMs = Date.now() + 3 * sessionMs;
    let written = 0;
    while (Date.now() < untilMs) {
      await write(topic, String(written++));
      await reader.until(() => reader.records.length === written);
      await only(source.commit([{ partition: reader.partition(), offset: written, metadata: '' }]));
      await sleep(200);
    }
    expect(reader.events.filter(({ kind }) => kind === 'lost')).toEqual([]);
    expect(reader.values).toEqual(Array.from({ length: written }, (_, i) => String(i)));
    await source.close();
  }, 120_000);
});
