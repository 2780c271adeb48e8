import type { Priority } from '../../model/call.ts';
import { Rotation } from '../ring/rotation.ts';

import { type ClassRing, Flow, type Lane, type LaneQueue, type Room } from './lane.ts';

/** Shares of the priority classes while all have work; each an integer >= 1. */
export type ClassWeights = Readonly<Record<Priority, number>>;

const tenantQuantum = 1;
// No cost is smaller: below it a flow's or class's visit is over.
const smallestCost = 1;

/**
 * Whose turn it is: deficit round robin (Shreedhar and Varghese 1995) over priority classes, in each over tenants, in
 * each plain round robin over lanes. A flow keeps its deficit and its place in the round as long as one of its lanes is
 * ready *or waits in a room*, so a bucket that lets one through at a time is shared as fairly as one that lets through
 * many; when its last lane leaves it loses both, so nothing is hoarded. O(1), plus one step per tenant that has nothing
 * but waiting lanes while another has ready ones.
 */
export class DeficitRounds<T> {
  readonly #rings: readonly ClassRing<T>[];
  readonly #byPriority: Readonly<Record<Priority, ClassRing<T>>>;
  #at = 0;

  constructor(weights: ClassWeights) {
    const ring = (priority: Priority, index: number): ClassRing<T> => {
      const weight = weights[priority];
      if (!(Number.isInteger(weight) && weight >= 1)) {
        throw new RangeError(`lanes.weights.${priority} must be an integer >= 1, got ${weight}`);
      }
      const flows = new Rotation<Flow<T>>();
      return { index, weight, deficit: 0, visited: false, lanes: 0, offered: 0, flows, byTenant: new Map() };
    };
    this.#byPriority = { interactive: ring('interactive', 0), normal: ring('normal', 1), bulk: ring('bulk', 2) };
    this.#rings = [this.#byPriority.interactive, this.#byPriority.normal, this.#byPriority.bulk];
  }

  /** Makes a lane ready: it is offered from now on, after the other ready lanes of its flow. */
  enter(lane: Lane<T>, priority: Priority, tenant: string): void {
    const { ready } = this.#flow(this.#byPriority[priority], tenant);
    lane.state = 'ready';
    this.#count(ready, 1);
    this.#link(lane, ready);
    if (ready.next === undefined) ready.flow.queues.add(ready);
  }

  /** Moves a lane of this flow that is ready or waiting into the queue of a closed room. */
  move(lane: Lane<T>, room: Room<T>): void {
    const flow = lane.queue?.flow;
    if (flow === undefined) return;
    this.#unlink(lane);
    let queue = room.queues.get(flow);
    if (queue === undefined) {
      queue = { flow, room, lanes: new Rotation(), next: undefined, previous: undefined };
      room.queues.set(flow, queue);
      room.unlisted.add(queue);
    }
    lane.state = 'waiting';
    this.#link(lane, queue);
  }

  /** Takes a lane out. */
  leave(lane: Lane<T>): void {
    const { queue } = lane;
    if (queue === undefined) return;
    lane.state = 'idle';
    this.#unlink(lane);
    this.#count(queue, -1);
  }

  /** The room's lanes are offered from now on (amortised O(1): only queues that were taken out are put back). */
  open(room: Room<T>): void {
    room.open = true;
    this.#offerAll(room, 1);
    for (const queue of room.unlisted) queue.flow.queues.add(queue);
    room.unlisted.clear();
  }

  /** The room's lanes are not offered any more. O(1): their queues are taken out when they are met. */
  close(room: Room<T>): void {
    room.open = false;
    this.#offerAll(room, -1);
  }

  /** The lane whose turn it is; `undefined` when none is offered. Asking again without a change gives the same lane. */
  candidate(): Lane<T> | undefined {
    for (let without = 0; without < this.#rings.length;) {
      const ring = this.#rings[this.#at];
      const lane = ring === undefined ? undefined : candidateOf(ring);
      if (ring === undefined || lane === undefined) without += 1;
      else {
        without = 0;
        if (isAffordable(ring, ring.weight, costOf(lane))) return lane;
      }
      this.#at = (this.#at + 1) % this.#rings.length;
    }
    return undefined;
  }

  /** Charges the candidate's flow and class for it and takes it out. */
  serve(lane: Lane<T>): void {
    const { queue } = lane;
    if (queue === undefined) return;
    const { flow } = queue;
    const { ring } = flow;
    flow.queues.advance();
    flow.deficit -= costOf(lane);
    ring.deficit -= costOf(lane);
    if (flow.deficit < smallestCost) {
      flow.visited = false;
      ring.flows.advance();
    }
    if (ring.deficit < smallestCost) {
      ring.visited = false;
      this.#at = (this.#at + 1) % this.#rings.length;
    }
    this.leave(lane);
  }

  #flow(ring: ClassRing<T>, tenant: string): Flow<T> {
    const known = ring.byTenant.get(tenant);
    if (known !== undefined) return known;
    const flow = new Flow(tenant, ring);
    ring.byTenant.set(tenant, flow);
    ring.flows.add(flow);
    return flow;
  }

  #count({ flow }: LaneQueue<T>, by: 1 | -1): void {
    const { ring } = flow;
    flow.lanes += by;
    ring.lanes += by;
    if (flow.lanes === 0) {
      ring.flows.remove(flow);
      ring.byTenant.delete(flow.tenant);
    }
    if (ring.lanes === 0) {
      ring.deficit = 0;
      ring.visited = false;
    }
  }

  #link(lane: Lane<T>, queue: LaneQueue<T>): void {
    queue.lanes.add(lane);
    lane.queue = queue;
    this.#countIn(lane, queue, 1);
  }

  #unlink(lane: Lane<T>): void {
    const { queue } = lane;
    if (queue === undefined) return;
    queue.lanes.remove(lane);
    lane.queue = undefined;
    this.#countIn(lane, queue, -1);
    if (queue.lanes.size > 0) return;
    queue.flow.queues.remove(queue);
    queue.room?.queues.delete(queue.flow);
    queue.room?.unlisted.delete(queue);
  }

  #countIn(lane: Lane<T>, { flow, room }: LaneQueue<T>, by: 1 | -1): void {
    const { index } = flow.ring;
    if (room === undefined || room.open) this.#offer(index, by);
    if (room === undefined) return;
    room.lanes[index] = (room.lanes[index] ?? 0) + by;
    room.items += by * lane.length;
  }

  // Rooms open and close with every call that ends: no iterator here.
  #offerAll({ lanes }: Room<T>, by: 1 | -1): void {
    for (let index = 0; index < lanes.length; index++) this.#offer(index, by * (lanes[index] ?? 0));
  }

  #offer(index: number, lanes: number): void {
    const ring = this.#rings[index];
    if (ring !== undefined) ring.offered += lanes;
  }
}

function candidateOf<T>(ring: ClassRing<T>): Lane<T> | undefined {
  // As long as a lane is offered, one of the flows met below has it.
  while (ring.offered > 0) {
    const flow = ring.flows.first;
    if (flow === undefined) return undefined;
    const lane = firstOffered(flow);
    if (lane !== undefined && isAffordable(flow, tenantQuantum, costOf(lane))) return lane;
    ring.flows.advance();
  }
  return undefined;
}

function firstOffered<T>(flow: Flow<T>): Lane<T> | undefined {
  for (let queue = flow.queues.first; queue !== undefined; queue = flow.queues.first) {
    if (queue.room?.open !== false) return queue.lanes.first;
    flow.queues.remove(queue);
    queue.room.unlisted.add(queue);
  }
  return undefined;
}

/** Adds the quantum once per visit. What is refused ends its visit and keeps the deficit for the next round. */
function isAffordable(payer: { deficit: number; visited: boolean }, quantum: number, cost: number): boolean {
  if (!payer.visited) {
    payer.visited = true;
    payer.deficit += quantum;
  }
  if (cost <= payer.deficit) return true;
  payer.visited = false;
  return false;
}

function costOf<T>(lane: Lane<T>): number {
  return lane.head?.place.cost ?? smallestCost;
}
