import { map, of } from 'rxjs';

import { decodeDone, encodeDone } from '../../../src/pipeline/commit-metadata.ts';
import type { Ack } from '../../../src/ports/record-sink.ts';
import type { AssignedPartition, Commit, RecordSource } from '../../../src/ports/record-source.ts';

import type { Mutant } from './mutant.ts';

/** A source with some of its methods replaced. */
function over(source: RecordSource, changes: Partial<RecordSource>): RecordSource {
  const same: RecordSource = {
    event$: source.event$,
    clusterId: () => source.clusterId(),
    pause: (partition) => source.pause(partition),
    resume: (partition) => source.resume(partition),
    commit: (commits) => source.commit(commits),
    ready: () => source.ready(),
  };
  return { ...same, ...changes };
}

function committing(name: string, change: (commit: Commit) => Commit): Mutant {
  return {
    name,
    ports: (ports) => ({
      ...ports,
      source: over(ports.source, { commit: (commits) => ports.source.commit(commits.map(change)) }),
    }),
  };
}

/** Bugs between the house and its topics. */
export const topicMutants: readonly Mutant[] = [
  committing('commits past a gap', ({ partition, offset, metadata }) => {
    const last = Math.max(offset - 1, ...decodeDone(offset, metadata));
    return { partition, offset: last + 1, metadata: '' };
  }),
  committing('commits one record too far', ({ partition, offset }) => ({
    partition,
    offset: offset + 1,
    metadata: '',
  })),
  {
    name: 'leaves out of every other commit what is done above the gap',
    ports: (ports) => {
      let commits = 0;
      const bare = (commit: Commit): Commit => ({ ...commit, metadata: '' });
      const { source } = ports;
      return {
        ...ports,
        source: over(source, {
          commit: (all) => source.commit(commits++ % 2 === 0 ? all : all.map(bare)),
        }),
      };
    },
  },
  {
    name: 'misreads the metadata of a commit by one',
    ports: (ports) => ({
      ...ports,
      source: over(ports.source, {
        event$: ports.source.event$.pipe(
          map((event) => {
            if (event.kind !== 'assigned') return event;
            const { fromOffset, metadata } = event;
            const done = [...decodeDone(fromOffset, metadata)].map((offset) => offset + 1);
            return { ...event, metadata: encodeDone(fromOffset, done) };
          }),
        ),
      }),
    }),
  },
  {
    name: 'counts a terminal record as written before it is acknowledged',
    ports: (ports) => ({
      ...ports,
      sink: {
        flush: () => ports.sink.flush(),
        trouble: (topic) => ports.sink.trouble(topic),
        append: (record) => {
          ports.sink.append(record).subscribe();
          return of<Ack>({ kind: 'written', partition: 0, offset: 0 });
        },
      },
    }),
  },
  {
    name: 'forgets to resume a partition',
    ports: (ports) => ({ ...ports, source: over(ports.source, { resume: () => undefined }) }),
  },
  {
    name: 'drops what comes when a ring is nearly full',
    house: ({ rings }, { world }) => {
      const push = rings.push.bind(rings);
      rings.push = (partition, item) => {
        const ring = [...rings.stats()].find((stats) => stats.partition === partition);
        if ((ring?.items ?? 0) < world.plan.sizes.ringCapacity / 2 - 1) push(partition, item);
      };
    },
  },
  {
    name: 'takes a completion of an earlier assignment for one of this',
    house: ({ partitions }) => {
      const done = partitions.done.bind(partitions);
      const present = ({ partition }: AssignedPartition): AssignedPartition | undefined =>
        [...partitions.stats()].find((held) => held.partition.partition === partition)?.partition;
      partitions.done = (received) =>
        done({ ...received, partition: present(received.partition) ?? received.partition });
    },
  },
];
