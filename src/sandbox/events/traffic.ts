import type { Links } from '../link/links.ts';

import { approvalEvent, messageEvent, type SandboxEvent } from './bodies.ts';
import { type Answered, Courier, type CourierWorld } from './courier.ts';
import type { EventTarget } from './seal.ts';

/** How many events are sent, and how. */
export interface TrafficPlan {
  readonly target: EventTarget;
  readonly events: number;
  /** Chats (or approvals) they are spread over; within one, the next event waits until the one before was taken. Default 10. */
  readonly chats?: number;
  /** Share of events that are delivered a second time although they were taken, 0 to 1; every other one at the same moment. Default 0. */
  readonly duplicates?: number;
  /** Default `2.0`. `both`: by turns. */
  readonly schema?: '1.0' | '2.0' | 'both';
  /** Shortens the waits before a redelivery. Default 1. */
  readonly timeScale?: number;
  /** Deliveries under way at once, at most. Default 64. */
  readonly atOnce?: number;
  /** Most events begun in a second; default: no limit. */
  readonly perSecond?: number;
}

/** What became of them. */
export interface TrafficReport {
  readonly events: number;
  /** Requests made: first deliveries, duplicates and redeliveries. */
  readonly deliveries: number;
  readonly duplicates: number;
  /** Events answered 200 in the end. */
  readonly taken: number;
  /** Events that were given up after the last redelivery. */
  readonly givenUp: number;
  /** Answers by status; `0`: none. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Of the answers with 200, milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly seconds: number;
  /** Ids of the events in the order of their chats, for comparison with what arrived. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
}

/**
 * Sends events over chats, in order within each, with duplicates and redeliveries. Resolves when every event has its end.
 * @param each is told of every answer
 * @param links for a target that is reached over long connections
 */
export async function sendTraffic(
  plan: TrafficPlan,
  world: CourierWorld,
  each: (answer: Answered, id: string) => void = () => undefined,
  links?: Pick<Links, 'deliver'>,
): Promise<TrafficReport> {
  const run = new Run(plan, new Courier(world, plan.timeScale, links), world, each);
  return run.send();
}

class Run {
  readonly #plan: TrafficPlan;
  readonly #world: CourierWorld;
  readonly #courier: Courier;
  readonly #salt: string;
  readonly #each: (answer: Answered, id: string) => void;
  readonly #tookMs: number[] = [];
  readonly #byStatus: Record<string, number> = {};
  readonly #ids: Record<string, string[]> = {};
  /** Second deliveries that nobody waits for until the end. */
  readonly #beside: Promise<void>[] = [];
  #deliveries = 0;
  #duplicates = 0;
  #taken = 0;
  #givenUp = 0;

  constructor(plan: TrafficPlan, courier: Courier, world: CourierWorld, each: (answer: Answered, id: string) => void) {
    this.#plan = plan;
    this.#each = each;
    this.#world = world;
    this.#courier = courier;
    this.#salt = Math.floor(world.random.next() * 2 ** 32).toString(36) + Math.floor(world.clock.wall()).toString(36);
  }

  async send(): Promise<TrafficReport> {
    const { events, chats = 10, atOnce = 64 } = this.#plan;
    const startMs = this.#world.clock.now();
    const queues = Array.from({ length: Math.min(chats, events) }, (_, chat) => ({ chat, next: chat }));
    // Every carrier takes the chat that waited longest, sends its next event, and puts it back.
    const carry = async (): Promise<void> => {
      for (let queue = queues.shift(); queue !== undefined; queue = queues.shift()) {
        await this.#pace(queue.next, startMs);
        await this.#sendOne(queue.next, queue.chat);
        queue.next += chats;
        if (queue.next < events) queues.push(queue);
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, chats) }, carry));
    await Promise.all(this.#beside);
    await this.#courier.close();
    const sorted = this.#tookMs.sort((a, b) => a - b);
    const share = (part: number) => Math.round((sorted[Math.floor((sorted.length - 1) * part)] ?? 0) * 10) / 10;
    return {
      events,
      deliveries: this.#deliveries,
      duplicates: this.#duplicates,
      taken: this.#taken,
      givenUp: this.#givenUp,
      byStatus: this.#byStatus,
      p50Ms: share(0.5),
      p99Ms: share(0.99),
      seconds: (this.#world.clock.now() - startMs) / 1_000,
      ids: this.#ids,
    };
  }

  async #sendOne(n: number, chat: number): Promise<void> {
    const { target, duplicates = 0 } = this.#plan;
    const event = this.#make(n, chat);
    (this.#ids[event.subject] ??= []).push(event.id);
    const again = this.#world.random.next() < duplicates;
    const atOnce = again && this.#world.random.next() < 0.5;
    const first = this.#courier.deliverUntilTaken(target, event.body, (answer) => this.#count(answer, event.id));
    if (atOnce) this.#beside.push(this.#duplicate(event));
    if (await first) this.#taken++;
    else this.#givenUp++;
    if (again && !atOnce) await this.#duplicate(event);
  }

  async #duplicate(event: SandboxEvent): Promise<void> {
    this.#duplicates++;
    this.#count(await this.#courier.deliver(this.#plan.target, 'events', event.body), event.id);
  }

  #make(n: number, chat: number): SandboxEvent {
    const { target, schema = '2.0' } = this.#plan;
    const old = schema === '1.0' || (schema === 'both' && chat % 2 === 1);
    const seed = { n, subject: old ? `I-${chat}` : `oc_${chat}`, wallMs: this.#world.clock.wall(), salt: this.#salt };
    return old ? approvalEvent(target, seed) : messageEvent(target, seed);
  }

  #count(answer: Answered, id: string): void {
    const { status, ms } = answer;
    this.#each(answer, id);
    this.#deliveries++;
    this.#byStatus[status] = (this.#byStatus[status] ?? 0) + 1;
    if (status === 200) this.#tookMs.push(ms);
  }

  async #pace(n: number, startMs: number): Promise<void> {
    const { perSecond } = this.#plan;
    const { clock, timers } = this.#world;
    const dueMs = perSecond === undefined ? 0 : (n / perSecond) * 1_000 - (clock.now() - startMs);
    if (dueMs > 1) await new Promise<void>((resolve) => void timers.after(dueMs, resolve));
  }
}
