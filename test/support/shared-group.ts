import { Observable, of, type Subscriber } from 'rxjs';

import type { Embedded } from '../../src/adapters/embedded/embedded.ts';
import type { AssignedPartition, Commit, RecordSource, SourceEvent } from '../../src/ports/record-source.ts';

import type { VirtualTime } from './virtual-time.ts';

interface Reading {
  readonly assigned: AssignedPartition;
  next: number;
  paused: boolean;
}

type Committed = Map<number, { readonly offset: number; readonly metadata: string }>;

/** A consumer group over embedded topics whose partitions a test moves between members by hand, those of all topics together. */
export class SharedGroup {
  readonly #committed: ReadonlyMap<string, Committed>;
  readonly members: Member[] = [];
  readonly topics: readonly string[];
  readonly #embedded: Embedded;
  readonly #time: VirtualTime;
  #epoch = 0;

  constructor(embedded: Embedded, time: VirtualTime, topics: readonly string[] = ['calls']) {
    this.#embedded = embedded;
    this.#time = time;
    this.topics = topics;
    this.#committed = new Map(topics.map((topic) => [topic, new Map()]));
  }

  /** What is committed of the first topic. */
  get committed(): Committed {
    return this.committedOf(this.topics[0] ?? '');
  }

  committedOf(topic: string): Committed {
    return this.#committed.get(topic) ?? new Map<number, never>();
  }

  /** A new member; it owns nothing until {@link give}. */
  member(): Member {
    const member = new Member(this, this.#time);
    this.members.push(member);
    return member;
  }

  /** Takes a partition from whoever has it and gives it to a member (or to nobody). */
  give(partition: number, to: Member | undefined): void {
    for (const member of this.members) member.lose(partition);
    const epoch = ++this.#epoch;
    for (const topic of this.topics) to?.take({ topic, partition, epoch }, this.committedOf(topic).get(partition));
  }

  /** Something was written: members look for it. */
  poke(): void {
    for (const member of this.members) member.look();
  }

  read({ topic, partition }: AssignedPartition, offset: number) {
    return this.#embedded.read(topic, partition, offset);
  }

  clusterId(): string {
    return this.#embedded.clusterId;
  }
}

/** One member of a {@link SharedGroup}. */
export class Member implements RecordSource {
  readonly event$: Observable<SourceEvent>;
  /** Commits that came for an assignment which was over. */
  readonly staleCommits: Commit[] = [];
  readonly #group: SharedGroup;
  readonly #time: VirtualTime;
  readonly #readings = new Map<string, Reading>();
  #subscriber: Subscriber<SourceEvent> | undefined;

  constructor(group: SharedGroup, time: VirtualTime) {
    this.#group = group;
    this.#time = time;
    this.event$ = new Observable((subscriber) => {
      this.#subscriber = subscriber;
      return () => {
        this.#subscriber = undefined;
        this.#readings.clear();
      };
    });
  }

  clusterId(): string {
    return this.#group.clusterId();
  }

  take(assigned: AssignedPartition, committed: { readonly offset: number; readonly metadata: string } | undefined) {
    const next = committed?.offset ?? 0;
    this.#readings.set(placeOf(assigned), { assigned, next, paused: false });
    const metadata = committed?.metadata ?? null;
    this.#subscriber?.next({ kind: 'assigned', partition: assigned, fromOffset: next, metadata });
    this.look();
  }

  lose(partition: number): void {
    for (const [place, { assigned }] of this.#readings) {
      if (assigned.partition !== partition) continue;
      this.#readings.delete(place);
      this.#subscriber?.next({ kind: 'lost', partition: assigned });
    }
  }

  /** Ends the member's stream with an error, as a source does for what a person must mend. */
  fail(error: unknown): void {
    this.#subscriber?.error(error);
  }

  pause(partition: AssignedPartition): void {
    const reading = this.#current(partition);
    if (reading !== undefined) reading.paused = true;
  }

  resume(partition: AssignedPartition): void {
    const reading = this.#current(partition);
    if (reading === undefined) return;
    reading.paused = false;
    this.look();
  }

  commit(commits: readonly Commit[]): Observable<void> {
    for (const commit of commits) {
      const { partition, offset, metadata } = commit;
      if (this.#current(partition) === undefined) this.staleCommits.push(commit);
      else this.#group.committedOf(partition.topic).set(partition.partition, { offset, metadata });
    }
    return of(undefined);
  }

  /** Offset of the next record that it reads of a partition of the first topic. */
  position(partition: number): number | undefined {
    return this.#readings.get(`${this.#group.topics[0] ?? ''}/${partition}`)?.next;
  }

  ready(): boolean {
    return this.#subscriber !== undefined;
  }

  /** Delivers what there is, in a later turn. */
  look(): void {
    this.#time.after(0, () => {
      for (const reading of this.#readings.values()) this.#deliver(reading);
    });
  }

  #deliver(reading: Reading): void {
    const { assigned } = reading;
    while (!reading.paused && this.#current(assigned) !== undefined) {
      const record = this.#group.read(assigned, reading.next);
      if (record === undefined) return;
      reading.next++;
      this.#subscriber?.next({ kind: 'record', partition: assigned, record });
    }
  }

  #current(partition: AssignedPartition): Reading | undefined {
    const reading = this.#readings.get(placeOf(partition));
    return reading?.assigned === partition ? reading : undefined;
  }
}

function placeOf({ topic, partition }: AssignedPartition): string {
  return `${topic}/${partition}`;
}
