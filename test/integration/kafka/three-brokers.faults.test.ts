import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { only } from '../../support/only.ts';
import { KafkaCluster } from '../../support/services/kafka-cluster.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const partitions = 12;
const keys = 60;

/** Every seventh record has no key, so its partition is the writer's choice. */
const keyOf = (number: number): number | undefined => (number % 7 === 0 ? undefined : number % keys);

/** Records with a number each, in the order of their keys. */
const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const key = keyOf(from + i);
    return { key: key === undefined ? null : Buffer.from(`k${key}`), value: Buffer.from(String(from + i)) };
  });

// Brokers of its own: this suite kills them.
describeWithKafka('three brokers, of which one fails', () => {
  let links: TcpProxy[];
  let cluster: KafkaCluster;
  let kafka: KafkaHarness;

  beforeAll(async () => {
    links = await Promise.all([TcpProxy.open(), TcpProxy.open(), TcpProxy.open()]);
    cluster = new KafkaCluster(links.map(({ port }) => port));
    await cluster.start();
    for (const [index, link] of links.entries()) link.to(cluster.nodes[index]?.outsidePort ?? 0);
    kafka = new KafkaHarness(cluster.brokers, 3);
  }, 180_000);
  afterAll(async () => {
    await kafka.close();
    await cluster.stop();
    await Promise.all(links.map((link) => link.close()));
  });

  it('K4, L1, L2: leaders move under load, by a kill and in order: nothing acknowledged is lost, order per key holds', async () => {
    const topic = await kafka.topic(partitions);
    const reader = new SourceReader(kafka.member(kafka.unique('group'), [topic]));
    await reader.until(() => reader.partitions.length === partitions);
    let next = 0;
    let loading = true;
    // Several thousand a second, over all partitions at once: a send is out for most of them when a broker goes.
    const load = async (): Promise<void> => {
      while (loading) {
        const from = next;
        next += 600;
        await kafka.write(topic, numbered(from, 600));
      }
    };
    const loaded = load();
    const stops = [
      (one: KafkaCluster['nodes'][number]) => one.kill9(),
      (one: KafkaCluster['nodes'][number]) => one.halt(),
    ];
    for (const stop of stops) {
      await sleep(1_000);
      const [leader] = await cluster.leaders(kafka.prefix + topic);
      if (leader === undefined) throw new Error('no leader');
      await stop(leader);
      await sleep(2_000);
      await cluster.revive(leader, [kafka.prefix + topic]);
    }
    loading = false;
    await loaded;
    await reader.until(() => new Set(reader.values).size === next, 60_000);
    const firsts = [...new Set(reader.values)].map(Number);
    for (let key = 0; key < keys; key++) {
      const ofKey = firsts.filter((number) => keyOf(number) === key);
      expect(ofKey).toEqual([...ofKey].sort((a, b) => a - b));
    }
    expect(next).toBeGreaterThan(5_000);
    reader.unsubscribe();
  }, 180_000);

  it('K5: the coordinator moves: commits go on, nothing is lost, and what stays with the member comes once', async () => {
    const topic = await kafka.topic(partitions);
    const group = kafka.unique('group');
    const source = kafka.member(group, [topic]);
    const reader = new SourceReader(source);
    await kafka.write(topic, numbered(0, 300));
    await reader.until(() => reader.records.length === 300);
    const coordinator = await cluster.coordinator(group);
    await coordinator.kill9();
    const written = kafka.write(topic, numbered(300, 300));
    const committed = async (): Promise<boolean> => {
      let stored = 0;
      for (const partition of reader.partitions) {
        const offset = new Set(reader.valuesOf(partition.partition)).size;
        await only(source.commit([{ partition, offset, metadata: '' }]).pipe()).then(
          () => stored++,
          () => undefined,
        );
      }
      return stored === partitions;
    };
    // The controller needs up to six seconds to see that it is dead; kafkajs alone asks the dead one for a minute and a half.
    await expect.poll(committed, { timeout: 40_000, interval: 1_000 }).toBe(true);
    await written;
    await reader.until(() => new Set(reader.values).size === 600, 60_000);
    expect(reader.events.filter(({ kind }) => kind === 'lost')).toEqual([]);
    expect(reader.values).toHaveLength(600);
    await cluster.revive(coordinator, [kafka.prefix + topic]);
    await source.close();
  }, 180_000);

  it('K7: one leader is out of reach: the other partitions flow, it is named, and its own come when it is back', async () => {
    const far = new KafkaHarness(links.map(({ port }) => `127.0.0.1:${port}`));
    const topic = await kafka.topic(partitions);
    const group = kafka.unique('group');
    const source = far.member(group, [topic], { prefix: kafka.prefix, tuning: { silentBrokerMs: 3_000 } });
    const reader = new SourceReader(source);
    await reader.until(() => reader.partitions.length === partitions);
    await kafka.write(topic, numbered(0, 60));
    await reader.until(() => reader.records.length === 60);
    const leaders = await cluster.leaders(kafka.prefix + topic);
    const coordinator = await cluster.coordinator(group);
    const cut = leaders.find((leader) => leader !== coordinator);
    const link = links[cluster.nodes.findIndex((node) => node === cut)];
    const own = (partition: number): boolean => leaders[partition] === cut;
    link?.silence();
    await kafka.write(topic, numbered(60, 600));
    const flowing = numbered(60, 600).length;
    await reader.until(() => far.logger.text.includes('a broker does not answer'), 20_000);
    const ofOthers = () => reader.records.filter(({ partition }) => !own(partition)).length;
    const owed = (await kafka.read(topic, 60 + flowing)).filter(({ partition }) => !own(partition)).length;
    await reader.until(() => ofOthers() === owed, 20_000);
    expect(reader.records.length).toBeLessThan(60 + flowing);
    link?.heal();
    await reader.until(() => new Set(reader.values).size === 60 + flowing, 60_000);
    await source.close();
    await far.close();
  }, 120_000);
});
