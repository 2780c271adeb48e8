import { LarkspurError } from '../../model/errors.ts';
import { Listeners } from '../listeners.ts';

import { DeficitRounds } from './deficit-rounds.ts';
import { Lane, type LaneEntry, type Place } from './lane.ts';
import { NotBeforeHeap } from './not-before-heap.ts';
import type { FairLanesOptions, LaneStats } from './options.ts';
import type { Turn } from './turn.ts';
import { type RoomStats, WaitingRooms } from './waiting-rooms.ts';

/** What the head of a lane may do. `untilMs` is `Infinity` for "until the room is woken". */
export type Gate = { readonly kind: 'go' } | { readonly kind: 'wait'; readonly room: string; readonly untilMs: number };

/** Nothing stands in the way. */
export const go: Gate = { kind: 'go' };

/**
 * Order and fairness: FIFO per lane with one item in turn, deficit round robin over classes and tenants, and a waiting room
 * per bucket, so that a lane which cannot go takes no turn from another. Reads no clock; times are given.
 */
export class FairLanes<T> {
  readonly #capacityItems: number;
  readonly #laneCapacityItems: number;
  readonly #gate: (item: T, nowMs: number) => Gate;
  readonly #rounds: DeficitRounds<T>;
  readonly #rooms: WaitingRooms<T>;
  readonly #asleep = new NotBeforeHeap<Lane<T>>();
  /** Lanes whose time has come and that go before all others. */
  readonly #appointed: Lane<T>[] = [];
  readonly #lanes = new Map<unknown, Lane<T>>();
  readonly #changed = new Listeners();
  #size = 0;
  #inTurn = 0;

  /**
   * @param gate asked for the head of a lane right before it would be given out; must not call back into the lanes
   * @throws RangeError naming the field that is out of range
   */
  constructor(options: FairLanesOptions, gate: (item: T, nowMs: number) => Gate) {
    const { capacityItems = 4096, laneCapacityItems = Infinity } = options;
    if (!(Number.isInteger(capacityItems) && capacityItems >= 1)) {
      throw new RangeError(`lanes.capacityItems must be an integer >= 1, got ${capacityItems}`);
    }
    if (!(laneCapacityItems >= 1)) {
      throw new RangeError(`lanes.laneCapacityItems must be >= 1, got ${laneCapacityItems}`);
    }
    this.#capacityItems = capacityItems;
    this.#laneCapacityItems = laneCapacityItems;
    this.#gate = gate;
    this.#rounds = new DeficitRounds(options.weights ?? { interactive: 8, normal: 4, bulk: 1 });
    this.#rooms = new WaitingRooms(this.#rounds);
  }

  /** Items queued, not in turn. */
  get size(): number {
    return this.#size;
  }

  /** Turns given out and not ended. */
  get inTurn(): number {
    return this.#inTurn;
  }

  /** Items that can still be added. */
  get room(): number {
    return Math.max(0, this.#capacityItems - this.#size - this.#inTurn);
  }

  get hasRoom(): boolean {
    return this.room > 0;
  }

  /** Whether one more item fits into this lane, the item in turn included. */
  laneHasRoom(lane: string | undefined): boolean {
    return (this.#lanes.get(lane)?.length ?? 0) < this.#laneCapacityItems;
  }

  /**
   * Puts an item into its lane, by its order: mostly at the end.
   * @throws LarkspurError `internal` when there is no room; ask `hasRoom` and `laneHasRoom` first
   * @throws RangeError when the cost is out of range
   */
  add(item: T, place: Place): void {
    if (!(place.cost >= 1 && place.cost <= 1000)) {
      throw new RangeError(`lanes.cost must be in [1, 1000], got ${place.cost}`);
    }
    if (!this.hasRoom || !this.laneHasRoom(place.lane)) {
      throw new LarkspurError('internal', 'lanes: an item came although there is no room');
    }
    this.#put(item, place);
    this.#changed.notify();
  }

  #put(item: T, place: Place): void {
    let lane = place.lane === undefined ? undefined : this.#lanes.get(place.lane);
    if (lane === undefined) {
      lane = new Lane<T>(place.lane);
      this.#lanes.set(lane.key, lane);
    }
    // What its head has waited for is not what the new one waits for.
    if (lane.goesFirst(place.order)) this.#release(lane);
    lane.push(item, place);
    this.#size += 1;
    if (lane.queue?.room !== undefined) lane.queue.room.items += 1;
    this.#settle(lane);
  }

  /** The next item whose lane is ready and whose gate says go; `undefined` when there is none now. */
  next(nowMs: number): Turn<T> | undefined {
    this.#rooms.openDue(nowMs);
    for (let lane = this.#asleep.popDue(nowMs); lane !== undefined; lane = this.#asleep.popDue(nowMs)) {
      lane.alarm = undefined;
      lane.state = 'idle';
      if (lane.appointed) this.#appointed.push(lane);
      else this.#settle(lane);
    }
    for (let lane = this.#appointed.shift(); lane !== undefined; lane = this.#appointed.shift()) {
      // Somebody may have come for it, or gone with it, meanwhile.
      if (lane.state !== 'idle' || lane.head === undefined) continue;
      if (this.#gate(lane.head.item, nowMs).kind === 'go') return this.#start(lane, lane.head.item);
      this.#settle(lane);
    }
    for (let lane = this.#rounds.candidate(); lane?.head !== undefined; lane = this.#rounds.candidate()) {
      const { item } = lane.head;
      const gate = this.#gate(item, nowMs);
      if (gate.kind === 'go') return this.#start(lane, item);
      // A time that has passed would be due at once and asked for ever: it counts as one millisecond from now.
      this.#rooms.seat(lane, gate.room, gate.untilMs > nowMs ? gate.untilMs : nowMs + 1);
    }
    return undefined;
  }

  /** The lanes of that room are offered again, in their order, until the gate refuses one. */
  wake(room: string): void {
    if (this.#rooms.open(room)) this.#changed.notify();
  }

  /** A lane that sleeps is offered now. */
  rouse(key: string): void {
    const lane = this.#lanes.get(key);
    if (lane?.state !== 'asleep') return;
    this.#release(lane);
    this.#settle(lane);
    this.#changed.notify();
  }

  /** When a sleeping lane or a room becomes due; `next` must be called then. It may be in the past. */
  nextWakeMs(): number | undefined {
    const laneMs = this.#asleep.earliestMs;
    const roomMs = this.#rooms.earliestMs;
    return laneMs === undefined || roomMs === undefined ? (laneMs ?? roomMs) : Math.min(laneMs, roomMs);
  }

  /** Removes what an owner has queued and returns it, in order per lane. Its turns are forgotten. O(items queued). */
  drop(owner: unknown): T[] {
    const dropped: T[] = [];
    for (const lane of this.#lanes.values()) {
      if (!lane.holds(owner)) continue;
      const wasBusy = lane.state === 'busy';
      // A new head is asked anew, whatever the old one was waiting for.
      const losesHead = lane.head?.place.owner === owner;
      if (losesHead) this.#release(lane);
      const removed = lane.removeOwned(owner).map(({ item }) => item);
      if (lane.queue?.room !== undefined) lane.queue.room.items -= removed.length;
      const unstarted = losesHead && wasBusy ? removed.slice(1) : removed;
      dropped.push(...unstarted);
      this.#size -= unstarted.length;
      this.#settle(lane);
    }
    this.#changed.notify();
    return dropped;
  }

  /** Calls `listener` whenever an item was added or dropped, a turn ended, or a room was woken. Returns a detacher. */
  attach(listener: () => void): () => void {
    return this.#changed.attach(listener);
  }

  /** Everything that is queued or in turn, lane by lane in order; for explain. Changes nothing. */
  *entries(): IterableIterator<LaneEntry<T>> {
    for (const lane of this.#lanes.values()) yield* lane.entries();
  }

  /** Lanes and items that wait in a room; `undefined` when none do. */
  roomStats(room: string): RoomStats | undefined {
    return this.#rooms.statsOf(room);
  }

  stats(): LaneStats {
    const lanes = { idle: 0, ready: 0, busy: 0, asleep: 0, waiting: 0 };
    for (const { state } of this.#lanes.values()) lanes[state] += 1;
    return { queued: this.#size, inTurn: this.#inTurn, lanes, rooms: this.#rooms.stats() };
  }

  #start(lane: Lane<T>, item: T): Turn<T> {
    const room = lane.queue?.room;
    this.#rounds.serve(lane);
    this.#rooms.left(room);
    lane.state = 'busy';
    this.#size -= 1;
    this.#inTurn += 1;
    const turn: Turn<T> = {
      item,
      again: (notBeforeMs, appointed = false, yields = false) => {
        if (lane.turn !== turn) return;
        this.#release(lane);
        lane.appointed = appointed;
        this.#size += 1;
        if (yields && lane.yieldHead()) this.#settle(lane);
        else {
          lane.state = 'asleep';
          lane.alarm = this.#asleep.add(notBeforeMs, lane);
        }
        this.#changed.notify();
      },
      join: (place) => {
        if (lane.turn !== turn) return;
        this.#pass(lane);
        this.#put(item, place);
        this.#changed.notify();
      },
      done: () => {
        if (lane.turn !== turn) return;
        this.#pass(lane);
        this.#changed.notify();
      },
    };
    lane.turn = turn;
    return turn;
  }

  /** The turn of its head is over: the lane goes on with its next item. */
  #pass(lane: Lane<T>): void {
    this.#release(lane);
    lane.shift();
    this.#settle(lane);
  }

  /** Takes a lane out of whatever it is in. */
  #release(lane: Lane<T>): void {
    if (lane.state === 'busy') this.#inTurn -= 1;
    if (lane.alarm !== undefined) this.#asleep.cancel(lane.alarm);
    lane.turn = undefined;
    lane.alarm = undefined;
    const room = lane.queue?.room;
    this.#rounds.leave(lane);
    this.#rooms.left(room);
    lane.state = 'idle';
  }

  /** An idle lane becomes ready, or is deleted when it is empty. */
  #settle(lane: Lane<T>): void {
    if (lane.state !== 'idle') return;
    if (lane.head === undefined) this.#lanes.delete(lane.key);
    else this.#rounds.enter(lane, lane.head.place.priority, lane.head.place.tenant);
  }
}
