import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { topicDeclarations } from '../../../src/model/topics.ts';
import type { TopicShape } from '../../../src/ports/topic-admin.ts';
import { planTopics, stepText, type TopicPlan } from '../../../src/runtime/topics-plan.ts';

/** What a cluster looks like after the steps of a plan. */
function applied(actual: readonly TopicShape[], { steps }: TopicPlan): TopicShape[] {
  const topics = new Map(actual.map((topic) => [topic.name, topic]));
  for (const step of steps) {
    const topic = step.kind === 'create' ? step.topic : topics.get(step.name)!;
    if (step.kind === 'create') topics.set(topic.name, topic);
    if (step.kind === 'add-partitions') topics.set(topic.name, { ...topic, partitions: step.to });
    if (step.kind === 'set') topics.set(topic.name, { ...topic, settings: { ...topic.settings, ...step.settings } });
  }
  return [...topics.values()];
}

const clusters = fc.record({
  brokers: fc.integer({ min: 1, max: 5 }),
  actual: fc.subarray([...topicDeclarations]).chain((some) =>
    fc.tuple(
      ...some.map(({ name }) =>
        fc.record({
          name: fc.constant(name),
          partitions: fc.integer({ min: 1, max: 24 }),
          replicationFactor: fc.integer({ min: 1, max: 3 }),
          settings: fc.record(
            {
              'retention.ms': fc.constantFrom('-1', '1000', '604800000', '99999999999'),
              'cleanup.policy': fc.constantFrom('delete', 'compact', 'compact,delete'),
              'max.message.bytes': fc.constantFrom('1000', '1048588', '99999999'),
              'min.insync.replicas': fc.constantFrom('1', '2', '3'),
              'message.timestamp.type': fc.constantFrom('CreateTime', 'LogAppendTime'),
              'compression.type': fc.constantFrom('producer', 'gzip', 'zstd', 'lz4'),
            },
            { requiredKeys: [] },
          ),
        }),
      ),
    ),
  ),
});

type Cluster = { brokers: number; actual: readonly TopicShape[] };
type Plan = (cluster: Cluster) => TopicPlan;
const plan: Plan = ({ actual, brokers }) => planTopics(topicDeclarations, actual, brokers);

const comesToRest = (planned: Plan) =>
  fc.property(clusters, (cluster) => {
    const after = applied(cluster.actual, planned(cluster));
    return planned({ ...cluster, actual: after }).steps.length === 0;
  });

const takesNothingAway = (planned: Plan) =>
  fc.property(clusters, ({ actual, brokers }) => {
    const cluster: Cluster = { actual, brokers };
    const after = applied(cluster.actual, planned(cluster));
    return cluster.actual.every((before) => {
      const now = after.find(({ name }) => name === before.name)!;
      const atLeast = (key: string) => {
        const size = (text: string | undefined) => (text === '-1' ? Infinity : Number(text ?? 0));
        return size(now.settings[key]) >= size(before.settings[key]);
      };
      const kept = ['retention.ms', 'max.message.bytes', 'min.insync.replicas'].every(atLeast);
      return kept && now.partitions >= before.partitions && now.replicationFactor === before.replicationFactor;
    });
  });

describe('planTopics', () => {
  it('is done after its steps were taken, whatever it found', () => {
    fc.assert(comesToRest(plan), { numRuns: 500 });
  });

  it('never takes partitions, time, size or safety away', () => {
    fc.assert(takesNothingAway(plan), { numRuns: 500 });
  });

  it.each<[string, Plan, (planned: Plan) => ReturnType<typeof comesToRest>]>([
    [
      'lowers retention',
      (cluster) => ({
        ...plan(cluster),
        steps: cluster.actual.map(({ name }) => ({
          kind: 'set',
          name,
          settings: { 'retention.ms': '1000' },
          from: {},
        })),
      }),
      takesNothingAway,
    ],
    [
      'shrinks topics',
      (cluster) => ({
        ...plan(cluster),
        steps: cluster.actual.map(({ name, partitions }) => ({
          kind: 'add-partitions',
          name,
          from: partitions,
          to: 12,
        })),
      }),
      takesNothingAway,
    ],
    [
      'sets what is set',
      (cluster) => ({
        ...plan(cluster),
        steps: cluster.actual.map(({ name }) => ({ kind: 'set', name, settings: {}, from: {} })),
      }),
      comesToRest,
    ],
  ])('is caught when it %s', (_, mutant, property) => {
    expect(fc.check(property(mutant) as fc.IProperty<unknown>, { numRuns: 500 })).toMatchObject({ failed: true });
  });

  it('creates everything on an empty cluster of three with three replicas and two in sync', () => {
    const { steps, refusals, notes } = plan({ actual: [], brokers: 3 });

    expect(steps).toHaveLength(topicDeclarations.length);
    expect(steps[0]).toEqual({
      kind: 'create',
      topic: {
        name: 'calls',
        partitions: 12,
        replicationFactor: 3,
        settings: {
          'retention.ms': '604800000',
          'cleanup.policy': 'delete',
          'max.message.bytes': '1048576',
          'min.insync.replicas': '2',
          'message.timestamp.type': 'CreateTime',
          'compression.type': 'producer',
        },
      },
    });
    expect([refusals, notes]).toEqual([[], []]);
  });

  it.each([
    [1, 1, '1'],
    [2, 2, '1'],
    [3, 3, '2'],
    [9, 3, '2'],
  ])(
    'on %i brokers keeps %i replicas with min.insync.replicas %s, and says so below three',
    (brokers, factor, inSync) => {
      const { steps, notes } = plan({ actual: [], brokers });
      const [first] = steps;

      expect(first).toMatchObject({
        topic: { replicationFactor: factor, settings: { 'min.insync.replicas': inSync } },
      });
      expect(notes.length).toBe(brokers < 3 ? 1 : 0);
    },
  );

  it('refuses to shrink a topic and says how to go about it', () => {
    const actual = applied([], plan({ actual: [], brokers: 3 })).map((t) =>
      t.name === 'calls' ? { ...t, partitions: 24 } : t,
    );
    const { steps, refusals } = plan({ actual, brokers: 3 });

    expect(steps).toEqual([]);
    expect(refusals).toEqual([expect.stringMatching(/^calls has 24 partitions, declared are 12: .*drain/)]);
  });

  it('warns that keys move when it adds partitions', () => {
    const actual = applied([], plan({ actual: [], brokers: 3 })).map((t) =>
      t.name === 'calls' ? { ...t, partitions: 6 } : t,
    );
    const { steps, notes } = plan({ actual, brokers: 3 });

    expect(steps.map(stepText)).toEqual(['~ calls: partitions 6 -> 12']);
    expect(notes).toEqual([expect.stringContaining('keys move')]);
  });

  it('replaces a codec that the client cannot read', () => {
    const all = applied([], plan({ actual: [], brokers: 3 }));
    const actual = all.map((t) => ({ ...t, settings: { ...t.settings, 'compression.type': 'zstd' } }));

    expect(plan({ actual, brokers: 3 }).steps.map(stepText)[0]).toBe('~ calls: compression.type zstd -> producer');
  });

  it('names min.insync.replicas above the replicas there are: no write can succeed', () => {
    const all = applied([], plan({ actual: [], brokers: 1 }));
    const actual = all.map((t) => ({ ...t, settings: { ...t.settings, 'min.insync.replicas': '2' } }));

    expect(plan({ actual, brokers: 1 }).notes).toContain(
      'calls: min.insync.replicas 2 with 1 replica: no write can succeed',
    );
  });
});
