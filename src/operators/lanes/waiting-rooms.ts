import type { DeficitRounds } from './deficit-rounds.ts';
import type { Lane, Room } from './lane.ts';
import { NotBeforeHeap } from './not-before-heap.ts';

/** One room, for metrics and explain. */
export interface RoomStats {
  readonly room: string;
  readonly lanes: number;
  readonly items: number;
  /** When its lanes are offered again at the latest; `Infinity` for "when woken". */
  readonly untilMs: number;
}

/**
 * One waiting room per bucket (quota, breaker, upstream) for the lanes it has refused. A room opens when its time has come
 * or it is woken: its lanes are offered again and leave one by one, until the bucket refuses one and the room closes.
 * So a wake-up costs what is let through plus one question, however many wait. Empty rooms are deleted.
 */
export class WaitingRooms<T> {
  readonly #rounds: DeficitRounds<T>;
  readonly #rooms = new Map<string, Room<T>>();
  readonly #alarms = new NotBeforeHeap<Room<T>>();

  constructor(rounds: DeficitRounds<T>) {
    this.#rounds = rounds;
  }

  /** When the next room opens by itself. */
  get earliestMs(): number | undefined {
    return this.#alarms.earliestMs;
  }

  /** The bucket refused this lane: it waits, and with it the room, until then or until woken. */
  seat(lane: Lane<T>, name: string, untilMs: number): void {
    const room = this.#rooms.get(name) ?? this.#add(name);
    // A room that is closed already keeps the earlier time: asking too soon costs one question, too late costs time.
    const nextMs = room.open ? untilMs : Math.min(untilMs, room.untilMs);
    if (room.open) this.#rounds.close(room);
    this.#setAlarm(room, nextMs);
    if (lane.queue?.room === room) return;
    const left = lane.queue?.room;
    this.#rounds.move(lane, room);
    this.#deleteIfEmpty(left);
  }

  /** Opens a room; `false` when nobody waits there or it is open already. */
  open(name: string): boolean {
    const room = this.#rooms.get(name);
    if (room === undefined || room.open) return false;
    this.#open(room);
    return true;
  }

  /** Opens the rooms whose time has come. */
  openDue(nowMs: number): void {
    for (let room = this.#alarms.popDue(nowMs); room !== undefined; room = this.#alarms.popDue(nowMs)) this.#open(room);
  }

  /** Call it after a lane has left `room`. */
  left(room: Room<T> | undefined): void {
    this.#deleteIfEmpty(room);
  }

  statsOf(name: string): RoomStats | undefined {
    const room = this.#rooms.get(name);
    return room === undefined ? undefined : statsOf(room);
  }

  stats(): RoomStats[] {
    return [...this.#rooms.values()].map(statsOf);
  }

  #add(name: string): Room<T> {
    const room: Room<T> = {
      name,
      open: false,
      untilMs: Infinity,
      items: 0,
      lanes: [0, 0, 0],
      queues: new Map(),
      unlisted: new Set(),
      alarm: undefined,
    };
    this.#rooms.set(name, room);
    return room;
  }

  #open(room: Room<T>): void {
    this.#setAlarm(room, Infinity);
    this.#rounds.open(room);
  }

  #setAlarm(room: Room<T>, atMs: number): void {
    room.untilMs = atMs;
    if (room.alarm?.index !== -1 && room.alarm?.atMs === atMs) return;
    if (room.alarm !== undefined) this.#alarms.cancel(room.alarm);
    room.alarm = atMs === Infinity ? undefined : this.#alarms.add(atMs, room);
  }

  #deleteIfEmpty(room: Room<T> | undefined): void {
    if (room === undefined || room.queues.size > 0) return;
    this.#setAlarm(room, Infinity);
    this.#rooms.delete(room.name);
  }
}

function statsOf<T>(room: Room<T>): RoomStats {
  return {
    room: room.name,
    lanes: room.lanes.reduce((sum, lanes) => sum + lanes, 0),
    items: room.items,
    untilMs: room.untilMs,
  };
}
