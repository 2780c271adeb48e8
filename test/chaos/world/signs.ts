import { setTimeout as sleep } from 'node:timers/promises';

import { sum } from './group.ts';
import { valuesOf, type WorkerProcess } from './processes.ts';
import type { World } from './world.ts';

const everyMs = 150;

/** What one worker shows to somebody who looks at it. */
interface Seen {
  readonly ready: boolean;
  readonly assigned: number;
  readonly failures: number;
  readonly warnings: number;
}

/**
 * Looks at the workers until one of them shows that something is wrong: it is not ready, has other partitions than before,
 * warns in its log, or counts failed attempts or superseded answers.
 */
export class Signs {
  readonly #watching: Promise<unknown>;
  readonly #startedMs = Date.now();
  #detectMs: number | undefined;
  #over = false;

  private constructor(before: ReadonlyMap<WorkerProcess, Seen>) {
    this.#watching = Promise.all([...before].map(([worker, seen]) => this.#watch(worker, seen)));
  }

  /** Begins to look; what the workers show now counts as usual. */
  static async watch(world: World): Promise<Signs> {
    const before = new Map<WorkerProcess, Seen>();
    for (const worker of world.running) {
      const seen = await look(worker);
      if (seen !== undefined) before.set(worker, seen);
    }
    return new Signs(before);
  }

  /** Stops looking. @returns milliseconds until the first sign, `null` when there was none */
  async stop(): Promise<number | null> {
    this.#over = true;
    await this.#watching;
    return this.#detectMs ?? null;
  }

  async #watch(worker: WorkerProcess, before: Seen): Promise<void> {
    while (!this.#over && this.#detectMs === undefined && worker.running) {
      const now = await look(worker);
      // One that does not answer is no sign: it may be frozen itself, and then only the others can tell.
      if (now !== undefined && differs(before, now)) this.#detectMs ??= Date.now() - this.#startedMs;
      await sleep(everyMs);
    }
  }
}

function differs(before: Seen, now: Seen): boolean {
  return (
    (before.ready && !now.ready) ||
    before.assigned !== now.assigned ||
    now.failures > before.failures ||
    now.warnings > before.warnings
  );
}

async function look(worker: WorkerProcess): Promise<Seen | undefined> {
  try {
    const [ready, scrape] = await Promise.all([worker.ready(), worker.scrape()]);
    const attempts = sum(valuesOf(scrape, 'larkspur_attempts_total'));
    const good = sum(valuesOf(scrape, 'larkspur_attempts_total', 'class="success"'));
    return {
      ready,
      assigned: sum(valuesOf(scrape, 'larkspur_kafka_assigned_partitions')),
      failures: attempts - good + sum(valuesOf(scrape, 'larkspur_superseded_total')),
      warnings: worker.warnings().length,
    };
  } catch {
    return undefined;
  }
}
