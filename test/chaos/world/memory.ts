import type { WorkerProcess } from './processes.ts';

/** Resident memory of a process over time. */
export class MemorySamples {
  readonly #samples: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(worker: WorkerProcess, everyMs = 250) {
    this.#timer = setInterval(() => {
      const rssMb = worker.rssMb();
      if (rssMb !== undefined) this.#samples.push(rssMb);
    }, everyMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** MB; `max` is 0 when nothing could be read. */
  get summary(): { readonly min: number; readonly median: number; readonly max: number; readonly samples: number } {
    const sorted = this.#samples.toSorted((a, b) => a - b);
    const at = (share: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
    return { min: at(0), median: at(0.5), max: at(1), samples: sorted.length };
  }
}
