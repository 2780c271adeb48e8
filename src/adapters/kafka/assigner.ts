import { AssignerProtocol, type Assigner, type Cluster, type GroupMember, type PartitionAssigner } from 'kafkajs';

/** A member of the group, as the leader sees it. */
export interface Candidate {
  readonly id: string;
  /** Partition numbers that it had until now. */
  readonly held: readonly number[];
}

/**
 * Gives each partition number to one member: loads differ by at most one, and of what a member had as much as balance
 * allows stays with it. Pure; the same input gives the same answer on every member.
 * @param count how many partition numbers there are, 0 or more
 */
export function placePartitions(count: number, candidates: readonly Candidate[]): ReadonlyMap<string, number[]> {
  const members = [...candidates].sort((a, b) => (a.id < b.id ? -1 : 1));
  const placed = new Map<string, number[]>(members.map(({ id }) => [id, []]));
  if (members.length === 0) return placed;
  const fair = Math.floor(count / members.length);
  let larger = count % members.length; // so many members may have one more than the fair share
  const taken = new Set<number>();
  for (const { id, held } of members) {
    const mine = placed.get(id) ?? [];
    for (const number of new Set(held)) {
      if (number >= count || taken.has(number) || mine.length > fair) continue;
      if (mine.length === fair && larger-- <= 0) break;
      taken.add(number);
      mine.push(number);
    }
  }
  for (let number = 0; number < count; number++) {
    if (taken.has(number)) continue;
    let least: number[] | undefined;
    for (const mine of placed.values()) if (least === undefined || mine.length < least.length) least = mine;
    least?.push(number);
  }
  return placed;
}

const name = 'LarkspurCoPartitioned';
const version = 1;

/**
 * Assigner that gives partition p of every topic to the same member, so that order and parking of a key are decided in
 * one place, and moves as little as possible.
 * @param held partition numbers this member has at present; asked at each join
 * @param onOtherTopics told, where this member assigns, of topics that not all members read
 */
export function coPartitioned(
  held: () => readonly number[],
  onOtherTopics: (topics: readonly string[]) => void,
): PartitionAssigner {
  return ({ cluster }): Assigner => ({
    name,
    version,
    protocol: ({ topics }) => ({
      name,
      metadata: AssignerProtocol.MemberMetadata.encode({ version, topics, userData: encodeNumbers(held()) }),
    }),
    assign: ({ members, topics }) => Promise.resolve(assign(cluster, members, topics, onOtherTopics)),
  });
}

function assign(
  cluster: Cluster,
  members: GroupMember[],
  topics: string[],
  onOtherTopics: (topics: readonly string[]) => void,
): ReturnType<typeof encodeAssignment>[] {
  const known = members.map(({ memberId, memberMetadata }) => {
    const metadata = AssignerProtocol.MemberMetadata.decode(memberMetadata);
    return { id: memberId, topics: new Set(metadata?.topics), held: decodeNumbers(metadata?.userData) };
  });
  const read = new Set(known.flatMap((member) => [...member.topics]));
  const partial = [...read].filter((topic) => known.some((member) => !member.topics.has(topic)));
  if (partial.length > 0) onOtherTopics(partial);
  const partitionsOf = new Map(
    topics.map((topic) => [topic, cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId)]),
  );
  const count = Math.max(0, ...[...partitionsOf.values()].flat().map((partition) => partition + 1));
  const owners = [...placePartitions(count, known)].flatMap(([id, numbers]) => numbers.map((n) => [n, id] as const));
  const ownerOf = new Map(owners);
  const assignments = new Map(members.map(({ memberId }) => [memberId, new Map<string, number[]>()]));
  for (const [topic, partitions] of partitionsOf) {
    // While a group is rolled from one set of topics to another, a member may not know this one.
    const able = known.filter((member) => member.topics.has(topic)).map(({ id }) => id);
    for (const partition of partitions) {
      const wanted = ownerOf.get(partition);
      const owner = wanted !== undefined && able.includes(wanted) ? wanted : able[partition % able.length];
      const mine = owner === undefined ? undefined : assignments.get(owner);
      if (mine !== undefined) mine.set(topic, [...(mine.get(topic) ?? []), partition]);
    }
  }
  return [...assignments].map(([memberId, assignment]) => encodeAssignment(memberId, assignment));
}

function encodeAssignment(memberId: string, assignment: ReadonlyMap<string, number[]>) {
  const encoded = { version, assignment: Object.fromEntries(assignment), userData: Buffer.alloc(0) };
  return { memberId, memberAssignment: AssignerProtocol.MemberAssignment.encode(encoded) };
}

function encodeNumbers(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [index, number] of numbers.entries()) bytes.writeInt32BE(number, index * 4);
  return bytes;
}

function decodeNumbers(bytes: Buffer | undefined): number[] {
  const count = Math.floor((bytes?.length ?? 0) / 4);
  return Array.from({ length: count }, (_, index) => bytes?.readInt32BE(index * 4) ?? 0);
}
