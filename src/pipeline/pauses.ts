import type { FairLanes } from '../operators/lanes/fair-lanes.ts';

/** Room in which the calls of a paused upstream wait; those whose time will be over have rooms below it. */
const pausedRoom = (destination: string): string => `paused:${destination}`;
const roomSpanMs = 1_000;

/** Which upstreams are paused, and by whom: each of them has to let it go on. Calls under way end. */
export class Pauses {
  readonly #lanes: () => Pick<FairLanes<unknown>, 'wake' | 'stats'>;
  readonly #by = new Map<string, Set<string>>();

  constructor(lanes: () => Pick<FairLanes<unknown>, 'wake' | 'stats'>) {
    this.#lanes = lanes;
  }

  /** Who holds an upstream; empty: it is not paused. */
  heldBy(upstream: string): readonly string[] {
    return [...(this.#by.get(upstream) ?? [])];
  }

  /** Whether calls to it wait. */
  has(upstream: string): boolean {
    return this.#by.has(upstream);
  }

  /**
   * Where a call waits, and until when. A room has one alarm, so those whose time is over in the same second share one.
   * @param lastStartMs after that it is too late for the call; `Infinity`: never
   */
  placeOf(upstream: string, lastStartMs: number): { readonly room: string; readonly untilMs: number } {
    const room = pausedRoom(upstream);
    if (lastStartMs === Infinity) return { room, untilMs: Infinity };
    const untilMs = (Math.floor(lastStartMs / roomSpanMs) + 1) * roomSpanMs;
    return { room: `${room}:${untilMs}`, untilMs };
  }

  pause(upstream: string, by: string): void {
    const holders = this.#by.get(upstream);
    if (holders === undefined) this.#by.set(upstream, new Set([by]));
    else holders.add(by);
  }

  /** @param by `undefined`: for all who hold it */
  resume(upstream: string, by?: string): void {
    const holders = this.#by.get(upstream);
    if (holders === undefined) return;
    if (by !== undefined) holders.delete(by);
    if (by !== undefined && holders.size > 0) return;
    this.#by.delete(upstream);
    const lanes = this.#lanes();
    const own = pausedRoom(upstream);
    for (const { room } of lanes.stats().rooms) if (room === own || room.startsWith(`${own}:`)) lanes.wake(room);
  }
}
