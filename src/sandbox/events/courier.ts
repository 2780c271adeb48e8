import { Agent } from 'undici';

import type { Links } from '../link/links.ts';
import type { SandboxClock, SandboxRandom, SandboxTimers } from '../world-ports.ts';

import { type EventTarget, seal } from './seal.ts';

/** How one delivery was answered. */
export interface Answered {
  /** 0: no answer within 3 s, or no connection. */
  readonly status: number;
  readonly ms: number;
  readonly body: string;
}

/** What the courier takes from the world. */
export interface CourierWorld {
  readonly clock: SandboxClock;
  readonly timers: SandboxTimers;
  readonly random: SandboxRandom;
}

/** Feishu waits so long for an answer. */
const answerWithinMs = 3_000;
/** After a failure Feishu delivers again after so long; then never. */
const redeliverAfterMs = [15_000, 300_000, 3_600_000, 21_600_000] as const;

/** Carries events, callbacks and challenges to a receiver, as Feishu does. Who makes one closes it. */
export class Courier {
  readonly #world: CourierWorld;
  readonly #agent = new Agent({ connections: 64, keepAliveTimeout: 30_000 });
  readonly #timeScale: number;
  readonly #links: Pick<Links, 'deliver'> | undefined;
  #turn = 0;

  /**
   * @param timeScale shortens the waits between deliveries: 0.001 makes 15 s into 15 ms
   * @param links for targets that are reached over long connections
   */
  constructor(world: CourierWorld, timeScale = 1, links?: Pick<Links, 'deliver'>) {
    this.#world = world;
    this.#timeScale = timeScale;
    this.#links = links;
  }

  /** One delivery to the next address of the target. Never rejects. */
  async deliver(target: EventTarget, door: 'events' | 'callbacks', body: unknown, signed = true): Promise<Answered> {
    const { clock, random } = this.#world;
    if (target.over === 'long-connection') return this.#deliverLinked(target.app, body);
    const url = target.urls[this.#turn++ % target.urls.length] ?? '';
    const request = seal(target, body, clock.wall(), random, signed);
    const startMs = clock.now();
    try {
      const answer = await this.#agent.request({
        origin: url,
        path: `/feishu/${encodeURIComponent(target.app)}/${door}`,
        method: 'POST',
        headers: request.headers,
        body: request.body,
        signal: AbortSignal.timeout(answerWithinMs),
      });
      const text = await answer.body.text();
      return { status: answer.statusCode, ms: clock.now() - startMs, body: text };
    } catch {
      return { status: 0, ms: clock.now() - startMs, body: '' };
    }
  }

  /**
   * Delivers an event until it is answered 200: again after 15 s, 5 min, 1 h and 6 h, times the scale.
   * @param each is told of every answer
   * @returns whether it was taken; `false`: Feishu would have given it up
   */
  async deliverUntilTaken(target: EventTarget, body: unknown, each: (answer: Answered) => void): Promise<boolean> {
    for (const waitMs of [...redeliverAfterMs, undefined]) {
      const answer = await this.deliver(target, 'events', body);
      each(answer);
      if (answer.status === 200) return true;
      if (waitMs !== undefined) await this.#wait(waitMs * this.#timeScale);
    }
    return false;
  }

  async #deliverLinked(app: string, body: unknown): Promise<Answered> {
    const { clock } = this.#world;
    const startMs = clock.now();
    const answer = await this.#links?.deliver(app, body, answerWithinMs);
    return { status: answer?.code ?? 0, ms: clock.now() - startMs, body: answer?.data ?? '' };
  }

  /** Ends its connections. */
  close(): Promise<void> {
    return this.#agent.close();
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.timers.after(ms, resolve);
    });
  }
}
