import { Pace } from './pace.ts';
import { Returns } from './returns.ts';

/** What may be set for {@link FullLanes}. */
export interface FullLanesOptions {
  /** The waits that there are outside, ascending, milliseconds. */
  readonly waitsMs: readonly number[];
  /** A flow is full when it holds more than this share of what is free beside it. Default 0.5. */
  readonly share?: number;
}

/** An item that comes. */
export interface Coming {
  readonly nowMs: number;
  /** Where it stands among all of its flow: what comes back and stands behind it is no work that goes before it. */
  readonly order: number;
  /** Items that lanes have room for, all flows together. */
  readonly freeItems: number;
  /** Items per second that the limits of its flow allow; `undefined`: nobody knows. */
  readonly perSecond: number | undefined;
  /** The longest that this one may be away, milliseconds. */
  readonly mostMs: number;
  /** It cannot go before another one that is outside for so long; 0: perhaps. `undefined`: it need not wait for any. */
  readonly behindMs?: number | undefined;
}

/** All flows together. */
export interface FullLanesStats {
  /** Items that are here. */
  readonly here: number;
  /** Flows that have items outside. */
  readonly full: number;
  /** Those items. */
  readonly outside: number;
}

interface Flow {
  /** Items here that can go when their turn comes. */
  queued: number;
  /** Items here that wait for one that is outside. */
  behind: number;
  readonly returns: Returns;
  /** From the moment on at which it was full for the first time. */
  pace: Pace | undefined;
}

// A flow of which nothing ends at all may go on at any moment: nobody is away for longer than that has lasted, nor than this,
const longestStalledMs = 600_000;
// nor than all of it takes at this share of its pace: of a short backlog there is work again soon.
const stalledShare = 1 / 3;

/**
 * Who waits here and who waits outside, where one flow (a tenant at a bucket of quota) brings more than its share: so that
 * those behind it in its partition get their turn.
 *
 * A flow may hold half of what is free beside it (Choudhury and Hahne 1998, dynamic thresholds): one alone gets a third of all,
 * two a quarter each, and some is free always. One more is sent away for as long as the flow has work for without it, counted
 * at its own pace and with what comes back meanwhile: it is never idle because of that. What lasts for less than the shortest
 * wait stays. Where nothing ends, because its upstream is down or paused, nobody is sent away and back at that pace: the longer
 * it lasts, the longer each is away. Those that wait for one that is outside count by themselves, so they never keep that one out. Reads no clock; times are monotonic milliseconds. Memory: one small entry per flow that has items.
 */
export class FullLanes {
  readonly #waitsMs: readonly number[];
  readonly #share: number;
  readonly #flows = new Map<string, Flow>();

  constructor({ waitsMs, share = 0.5 }: FullLanesOptions) {
    if (!(share > 0)) throw new RangeError(`fullLanes.share must be > 0, got ${share}`);
    this.#waitsMs = waitsMs;
    this.#share = share;
  }

  /** An item comes: for how long it is sent away, milliseconds; `undefined`: it stays, until {@link ended}. */
  comes(name: string, coming: Coming): number | undefined {
    const flow = this.#flow(name);
    const waits = coming.behindMs !== undefined;
    const here = coming.behindMs === 0 ? isHere(flow) : flow.queued;
    // Who waits for one that is outside is of no use here before that one is back.
    const isFull = here > coming.freeItems * this.#share || (coming.behindMs ?? 0) > 0;
    const tier = isFull ? this.#tierOf(flow, here, coming) : -1;
    const waitMs = this.#waitsMs[tier];
    if (waitMs === undefined) this.stays(name, waits);
    else flow.returns.add(tier, coming.nowMs, waitMs, coming.order);
    return waitMs;
  }

  /**
   * An item stays whatever its flow holds: one that could not be sent away, or that must not be.
   * @param waits for one that is outside
   */
  stays(name: string, waits: boolean): void {
    const flow = this.#flow(name);
    if (waits) flow.behind++;
    else flow.queued++;
  }

  /** One that was sent away is back; what becomes of it is asked next. */
  back(name: string, nowMs: number): void {
    const flow = this.#flows.get(name);
    flow?.returns.back(nowMs);
  }

  /**
   * One that stayed is gone.
   * @param waits as it was when it came
   * @param served it has its end, so it counts for the pace of its flow
   */
  ended(name: string, waits: boolean, nowMs: number, served: boolean): void {
    const flow = this.#flows.get(name);
    if (flow === undefined) return;
    if (waits) flow.behind = Math.max(0, flow.behind - 1);
    else flow.queued = Math.max(0, flow.queued - 1);
    if (served) flow.pace?.ended(nowMs);
    if (isHere(flow) === 0 && flow.returns.empty) this.#flows.delete(name);
  }

  /** Some of what is outside comes back to somebody else: nobody counts on any of it. */
  forgetReturns(): void {
    for (const [name, flow] of this.#flows) {
      flow.returns.clear();
      if (isHere(flow) === 0) this.#flows.delete(name);
    }
  }

  /** Items of a flow that are here. */
  here(name: string): number {
    const flow = this.#flows.get(name);
    return flow === undefined ? 0 : isHere(flow);
  }

  stats(nowMs: number): FullLanesStats {
    let [here, full, outside] = [0, 0, 0];
    for (const [name, flow] of this.#flows) {
      const size = flow.returns.sizeAt(nowMs);
      const own = isHere(flow);
      here += own;
      if (size > 0) full++;
      else if (own === 0) this.#flows.delete(name);
      outside += size;
    }
    return { here, full, outside };
  }

  /** Index of the wait; negative: it stays. */
  #tierOf(flow: Flow, here: number, coming: Coming): number {
    const { nowMs, order, perSecond, mostMs, behindMs = 0 } = coming;
    const { returns } = flow;
    const pace = (flow.pace ??= new Pace(nowMs, perSecond));
    const [shortestMs = Infinity] = this.#waitsMs;
    const isOver = isHere(flow) > coming.freeItems * this.#share;
    if (!(behindMs > 0 && isOver) && returns.lastMs(here, pace.now(nowMs), nowMs, order) < shortestMs) return -1;
    const most = pace.most(nowMs);
    const stalledMs = pace.now(nowMs) > 0 ? 0 : stalled(flow, pace, nowMs);
    const lastMs = Math.max(stalledMs, most > 0 ? returns.lastMs(here, most, nowMs, order) : 0);
    const longest = (ms: number): number => this.#waitsMs.findLastIndex((one) => one <= ms);
    const wanted = longest(Math.max(shortestMs, lastMs));
    const behind = this.#waitsMs.findIndex((one) => one >= behindMs);
    return Math.min(Math.max(wanted, behind), longest(mostMs));
  }

  #flow(name: string): Flow {
    let flow = this.#flows.get(name);
    if (flow === undefined) {
      flow = { queued: 0, behind: 0, returns: new Returns(this.#waitsMs.length), pace: undefined };
      this.#flows.set(name, flow);
    }
    return flow;
  }
}

/** For how long one is sent away while nothing ends. */
function stalled(flow: Flow, pace: Pace, nowMs: number): number {
  const perSecond = pace.most(nowMs) * stalledShare;
  const allMs = perSecond > 0 ? ((isHere(flow) + flow.returns.sizeAt(nowMs)) * 1_000) / perSecond : Infinity;
  return Math.min(pace.sinceEndedMs(nowMs), longestStalledMs, allMs);
}

function isHere({ queued, behind }: Flow): number {
  return queued + behind;
}
