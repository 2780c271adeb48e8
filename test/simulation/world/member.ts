import { Observable, type Subscriber } from 'rxjs';

import type { AssignedPartition, Commit, RecordSource, SourceEvent } from '../../../src/ports/record-source.ts';

import type { Process } from './process.ts';
import { clusterId, nameOf, type Place } from './topics.ts';

interface Reading {
  readonly assigned: AssignedPartition;
  next: number;
  paused: boolean;
  fetching: boolean;
}

/** One process in the group: fetches, pauses, commits over a wire that may be slow or broken. */
export class Member implements RecordSource {
  readonly process: Process;
  readonly event$: Observable<SourceEvent>;
  readonly #readings = new Map<string, Reading>();
  #subscriber: Subscriber<SourceEvent> | undefined;
  // Heard before the assignment itself, by a process that was frozen in between.
  readonly #lostAlready = new Set<AssignedPartition>();
  #requests = 0;

  constructor(process: Process) {
    this.process = process;
    this.event$ = new Observable((subscriber) => {
      this.#subscriber = subscriber;
      return () => {
        this.#subscriber = undefined;
        this.#readings.clear();
      };
    });
  }

  clusterId(): string {
    return clusterId;
  }

  takeIn(ms: number, assigned: AssignedPartition): void {
    this.process.deliverFromBroker(ms, () => {
      if (this.#lostAlready.has(assigned)) return;
      const { topics, group } = this.process.world;
      const committed = group.committed.get(nameOf(assigned));
      const fromOffset = committed?.offset ?? 0;
      this.#readings.set(nameOf(assigned), { assigned, next: fromOffset, paused: false, fetching: false });
      this.#note(`takes ${nameOf(assigned)} from`, `${fromOffset} of ${topics.end(assigned)}`);
      const metadata = committed?.metadata ?? null;
      this.#subscriber?.next({ kind: 'assigned', partition: assigned, fromOffset, metadata });
      this.fetchSoon(assigned);
    });
  }

  loseIn(ms: number, assigned: AssignedPartition): void {
    this.process.deliverFromBroker(ms, () => {
      this.#lostAlready.add(assigned);
      if (this.#current(assigned) === undefined) return;
      this.#readings.delete(nameOf(assigned));
      this.#note('loses', nameOf(assigned));
      this.#subscriber?.next({ kind: 'lost', partition: assigned });
    });
  }

  pause(partition: AssignedPartition): void {
    const reading = this.#current(partition);
    if (reading !== undefined) reading.paused = true;
  }

  resume(partition: AssignedPartition): void {
    const reading = this.#current(partition);
    if (reading === undefined) return;
    reading.paused = false;
    this.fetchSoon(partition);
  }

  commit(commits: readonly Commit[]): Observable<void> {
    return new Observable((subscriber) => {
      const { process } = this;
      const mine = commits.filter(({ partition }) => this.#current(partition) !== undefined);
      const { world } = process;
      if (!process.enter('commit')) return;
      const nth = this.#requests++;
      const arrivesMs = process.inLine('commits', process.draw(1, 30, 'commit', nth));
      world.clock.at(arrivesMs, () => {
        const trouble = world.weather.now('commits', world.clock.now())?.how;
        const stored = trouble !== 'refused' && mine.map((commit) => world.group.commit(commit)).every(Boolean);
        for (const { partition, offset } of mine)
          this.#note(`${stored ? 'commits' : 'is refused'} ${nameOf(partition)} to`, offset);
        process.deliver(process.draw(1, trouble === undefined ? 30 : 1_000, 'committed', nth), () => {
          if (stored && trouble === undefined) subscriber.next();
          subscriber.complete();
        });
      });
    });
  }

  ready(): boolean {
    return this.#subscriber !== undefined;
  }

  fetchSoon(place: Place): void {
    const reading = this.#readings.get(nameOf(place));
    if (reading === undefined || reading.fetching) return;
    reading.fetching = true;
    this.process.deliver(this.process.draw(0, 20, 'fetch', nameOf(place), reading.next), () => {
      reading.fetching = false;
      this.#deliver(reading);
    });
  }

  #deliver(reading: Reading): void {
    const { assigned } = reading;
    const { topics, plan } = this.process.world;
    for (let left = plan.sizes.fetch; left > 0; left--) {
      if (reading.paused || this.#current(assigned) !== reading) return;
      const end = topics.end(assigned);
      let record = topics.read(assigned, reading.next);
      while (record === undefined && reading.next < end) record = topics.read(assigned, ++reading.next);
      if (record === undefined) return;
      reading.next++;
      this.#subscriber?.next({ kind: 'record', partition: assigned, record });
    }
    this.fetchSoon(assigned);
  }

  #current(assigned: AssignedPartition): Reading | undefined {
    const reading = this.#readings.get(nameOf(assigned));
    return reading?.assigned === assigned ? reading : undefined;
  }

  #note(what: string, detail: string | number): void {
    this.process.world.note(this.process.name, what, detail);
  }
}
