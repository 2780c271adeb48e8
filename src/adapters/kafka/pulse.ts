import type { Admin, Kafka } from 'kafkajs';

import type { Clock, Timers } from '../../ports/clock.ts';

import { within } from './within.ts';

/** A question that only a broker that is there answers. */
export interface Look {
  /** Rejects when nobody answers. */
  ask(): Promise<unknown>;
  /** Rejects never. */
  close(): Promise<void>;
}

// Within Kubernetes' usual three probes of ten seconds each it shows well before the third.
const quietMs = 5_000;
const answerLimitMs = 3_000;
const againAfterMs = 1_000;

/**
 * Knows whether the brokers are there, also while there is nothing to write. Each acknowledgement is a sign of life; after
 * five seconds without one a broker is asked, and three seconds without an answer mean that none is there, until there is
 * a sign again.
 */
export class Pulse {
  readonly #look: Look;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #feltAtMs = -Infinity;
  #beats = false;
  #asking: Promise<void> | undefined;
  #closed = false;
  #cancel: () => void;

  constructor(look: Look, { clock, timers }: { readonly clock: Clock; readonly timers: Timers }) {
    this.#look = look;
    this.#clock = clock;
    this.#timers = timers;
    this.#cancel = timers.after(0, () => void this.#beat());
  }

  /** Whether the last sign was one of life; `false` until there was one. */
  get beats(): boolean {
    return this.#beats;
  }

  /** A broker has answered. */
  felt(): void {
    this.#feltAtMs = this.#clock.now();
    this.#beats = true;
  }

  /** Asks no more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    await this.#look.close();
  }

  async #beat(): Promise<void> {
    const nowMs = this.#clock.now();
    if (nowMs - this.#feltAtMs >= quietMs) {
      await within(this.#asked(), answerLimitMs, this.#timers);
      if (this.#feltAtMs < nowMs) this.#beats = false;
    }
    if (this.#closed) return;
    const waitMs = this.#beats ? quietMs - (this.#clock.now() - this.#feltAtMs) : againAfterMs;
    this.#cancel = this.#timers.after(waitMs, () => void this.#beat());
  }

  /** One question at a time: the answer to an old one is a sign as well, however late. */
  #asked(): Promise<void> {
    this.#asking ??= this.#look
      .ask()
      .then(
        () => this.felt(),
        () => undefined,
      )
      .finally(() => (this.#asking = undefined));
    return this.#asking;
  }
}

/** Asks for the list of brokers, over a connection of its own that is made anew after a failure. */
export function clusterLook(kafka: Kafka): Look {
  let admin: Admin | undefined;
  const leave = async (): Promise<void> => {
    const left = admin;
    admin = undefined;
    await left?.disconnect().catch(() => undefined);
  };
  return {
    ask: async () => {
      try {
        admin ??= kafka.admin();
        await admin.connect();
        return await admin.describeCluster();
      } catch (error) {
        await leave();
        throw error;
      }
    },
    close: leave,
  };
}
