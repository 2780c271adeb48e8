import type { Priority } from '../../model/call.ts';
import { type Linked, Rotation } from '../ring/rotation.ts';

import type { HeapEntry } from './not-before-heap.ts';

/** Where an item queues. */
export interface Place {
  /** Ordering key: items of one lane go one after the other. `undefined`: waits for no other item. */
  readonly lane: string | undefined;
  /** What the item is dropped with: its partition, compared by identity. */
  readonly owner: unknown;
  readonly priority: Priority;
  readonly tenant: string;
  /** Quota units of the item, mostly 1; in [1, 1000]. */
  readonly cost: number;
  /** Of two items of a lane that wait for their turn the one with less goes first, equal ones as they came. Default 0. */
  readonly order?: number;
}

/**
 * `idle`: empty, in no list; `ready`: its head may be offered; `busy`: its head is in turn; `asleep`: until its head's
 * not-before; `waiting`: in the waiting room of a bucket. A lane is in exactly one of them.
 */
export type LaneState = 'idle' | 'ready' | 'busy' | 'asleep' | 'waiting';

/** One queued item. */
export interface Entry<T> {
  readonly item: T;
  readonly place: Place;
  next: Entry<T> | undefined;
}

/** One queued item and its lane, for explain. */
export interface LaneEntry<T> {
  readonly item: T;
  /** First of the lane; the item itself when nothing is ahead of it. */
  readonly head: T;
  readonly ahead: number;
  /** What the lane does: `busy` means that its head is in turn. */
  readonly state: LaneState;
  readonly room: string | undefined;
  /** When the head is looked at again, for a lane that sleeps. */
  readonly untilMs: number | undefined;
}

/** Lanes of one flow that wait for the same thing: in the room, or (without room) for nothing but their turn. */
export interface LaneQueue<T> extends Linked<LaneQueue<T>> {
  readonly flow: Flow<T>;
  readonly room: Room<T> | undefined;
  readonly lanes: Rotation<Lane<T>>;
}

/** One tenant in one priority class, as long as a lane of it is ready or waiting. */
export class Flow<T> implements Linked<Flow<T>> {
  readonly tenant: string;
  readonly ring: ClassRing<T>;
  /** Cost it may still be served in this round. */
  deficit = 0;
  /** Whether this round's quantum was added. */
  visited = false;
  /** Lanes ready or waiting. */
  lanes = 0;
  readonly ready: LaneQueue<T>;
  /** Queues to choose from. Those of a room that closed meanwhile are taken out when they are met. */
  readonly queues = new Rotation<LaneQueue<T>>();
  next: Flow<T> | undefined;
  previous: Flow<T> | undefined;

  constructor(tenant: string, ring: ClassRing<T>) {
    this.tenant = tenant;
    this.ring = ring;
    this.ready = { flow: this, room: undefined, lanes: new Rotation(), next: undefined, previous: undefined };
  }
}

/** One priority class: the ring of its tenants. */
export interface ClassRing<T> {
  readonly index: number;
  readonly weight: number;
  deficit: number;
  visited: boolean;
  /** Lanes ready or waiting. */
  lanes: number;
  /** Those of them that may be offered now: ready, or in an open room. */
  offered: number;
  readonly flows: Rotation<Flow<T>>;
  readonly byTenant: Map<string, Flow<T>>;
}

/** The lanes that one bucket has refused. */
export interface Room<T> {
  readonly name: string;
  /** Its lanes are offered again, until the bucket refuses one. */
  open: boolean;
  untilMs: number;
  items: number;
  /** Lanes per priority class. */
  readonly lanes: number[];
  readonly queues: Map<Flow<T>, LaneQueue<T>>;
  /** Queues that their flow does not list at present. */
  readonly unlisted: Set<LaneQueue<T>>;
  alarm: HeapEntry<Room<T>> | undefined;
}

/** FIFO of one ordering key. Its head stays at the front while it is in turn, so `again` moves nothing. */
export class Lane<T> implements Linked<Lane<T>> {
  readonly key: unknown;
  state: LaneState = 'idle';
  next: Lane<T> | undefined;
  previous: Lane<T> | undefined;
  queue: LaneQueue<T> | undefined;
  alarm: HeapEntry<Lane<T>> | undefined;
  /** Its head has a place at the time for which it sleeps. */
  appointed = false;
  /** The turn that may still be ended; anything else that claims to be one is over. */
  turn: object | undefined;
  head: Entry<T> | undefined;
  length = 0;
  #tail: Entry<T> | undefined;

  /** @param key ordering key; `undefined` for the lane of a single independent item */
  constructor(key: string | undefined) {
    this.key = key ?? this;
  }

  /** Whether an item of that order would come before all others. */
  goesFirst(order = 0): boolean {
    return this.head !== undefined && this.state !== 'busy' && order < orderOf(this.head);
  }

  push(item: T, place: Place): void {
    const entry: Entry<T> = { item, place, next: undefined };
    const { order = 0 } = place;
    this.length += 1;
    if (this.#tail === undefined || orderOf(this.#tail) <= order) this.#append(entry);
    else if (this.goesFirst(order)) {
      entry.next = this.head;
      this.head = entry;
    } else this.#insert(entry, order);
  }

  #append(entry: Entry<T>): void {
    if (this.#tail === undefined) this.head = entry;
    else this.#tail.next = entry;
    this.#tail = entry;
  }

  /** Behind the head, in turn or not, and behind whatever is not greater; before the tail, which is. */
  #insert(entry: Entry<T>, order: number): void {
    let before = this.head;
    while (before?.next !== undefined && orderOf(before.next) <= order) before = before.next;
    if (before === undefined) return;
    entry.next = before.next;
    before.next = entry;
    if (entry.next === undefined) this.#tail = entry;
  }

  shift(): void {
    this.head = this.head?.next;
    if (this.head === undefined) this.#tail = undefined;
    this.length -= 1;
  }

  /** Lets its head go behind those that came while it was in turn and stand before it. `false`: there are none. */
  yieldHead(): boolean {
    const { head } = this;
    if (head?.next === undefined || orderOf(head) <= orderOf(head.next)) return false;
    this.shift();
    this.push(head.item, head.place);
    return true;
  }

  /** Its items in order, with what it does. */
  *entries(): IterableIterator<LaneEntry<T>> {
    const { head, state, queue, alarm } = this;
    if (head === undefined) return;
    const lane = { head: head.item, state, room: queue?.room?.name, untilMs: alarm?.atMs };
    let ahead = 0;
    for (let entry: Entry<T> | undefined = head; entry !== undefined; entry = entry.next) {
      yield { item: entry.item, ahead: ahead++, ...lane };
    }
  }

  /** Whether an entry of `owner` is here. */
  holds(owner: unknown): boolean {
    let entry = this.head;
    while (entry !== undefined && entry.place.owner !== owner) entry = entry.next;
    return entry !== undefined;
  }

  /** Takes out the entries of `owner`, in order. */
  removeOwned(owner: unknown): Entry<T>[] {
    const removed: Entry<T>[] = [];
    let entry = this.head;
    this.head = undefined;
    this.#tail = undefined;
    this.length = 0;
    for (; entry !== undefined; entry = entry.next) {
      if (entry.place.owner === owner) removed.push(entry);
      else this.push(entry.item, entry.place);
    }
    return removed;
  }
}

function orderOf<T>({ place: { order = 0 } }: Entry<T>): number {
  return order;
}
