import type { Watched } from './watched.ts';
import type { Safety } from './without.ts';

/** What the bench tells a contestant through its environment. */
export interface Task {
  readonly brokers: readonly string[];
  readonly redisUrl: string;
  readonly prefix: string;
  readonly upstreamUrl: string;
  readonly calls: number;
  readonly inFlight: number;
  /** For Larkspur: what is left out. */
  readonly without?: Safety | undefined;
  /** For Larkspur: how it is watched. */
  readonly watched?: Watched | undefined;
}

/** What a contestant reports when all calls have their terminal record. */
export interface Finished {
  readonly calls: number;
  /** From the first record read to the last terminal record acknowledged. */
  readonly ms: number;
  /** User and system time of the process in that span. */
  readonly cpuMs: number;
  /** Largest resident set seen in that span. */
  readonly rssMb: number;
}

/** The task of this process. */
export function task(): Task {
  return JSON.parse(process.env['BENCH_TASK'] ?? '{}') as Task;
}

/** Counts terminal records and reports when all are there. */
export class Meter {
  readonly #calls: number;
  #done = 0;
  #startedMs: number | undefined;
  #cpu = process.cpuUsage();
  #rssMb = 0;

  constructor(calls: number) {
    this.#calls = calls;
    setInterval(() => {
      this.#rssMb = Math.max(this.#rssMb, process.memoryUsage.rss() / 1_048_576);
    }, 100).unref();
  }

  /** The first record was read. */
  start(): void {
    if (this.#startedMs !== undefined) return;
    this.#startedMs = performance.now();
    this.#cpu = process.cpuUsage();
  }

  /** `n` more terminal records are durable. */
  done(n: number): void {
    const before = this.#done;
    this.#done += n;
    if (before >= this.#calls || this.#done < this.#calls || this.#startedMs === undefined) return;
    const { user, system } = process.cpuUsage(this.#cpu);
    const finished: Finished = {
      calls: this.#done,
      ms: performance.now() - this.#startedMs,
      cpuMs: (user + system) / 1_000,
      rssMb: this.#rssMb,
    };
    process.send?.(finished);
  }
}
