/** A task that waits for its time. */
interface Due {
  readonly atMs: number;
  readonly seq: number;
  task: (() => void) | undefined;
}

/** The one clock of a simulated world: tasks run in the order of (time, creation), each to its end. */
export class Clockwork {
  #nowMs = 0;
  #seq = 0;
  // A binary heap: worlds hold hundreds of timers and move thousands of times.
  readonly #heap: Due[] = [];

  now(): number {
    return this.#nowMs;
  }

  /** Runs `task` then, or now when that has passed. Returns what cancels it. */
  at(atMs: number, task: () => void): () => void {
    const due: Due = { atMs: Math.max(atMs, this.#nowMs), seq: this.#seq++, task };
    this.#push(due);
    return () => {
      due.task = undefined;
    };
  }

  in(ms: number, task: () => void): () => void {
    return this.at(this.#nowMs + ms, task);
  }

  /** Runs what is due until then, or until `stopped` says so. */
  run(untilMs: number, stopped: () => boolean): void {
    for (let due = this.#heap[0]; due !== undefined && due.atMs <= untilMs; due = this.#heap[0]) {
      this.#pop();
      this.#nowMs = due.atMs;
      due.task?.();
      if (stopped()) return;
    }
    this.#nowMs = untilMs;
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.push(due) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(due, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = due;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function before(a: Due, b: Due): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.seq < b.seq);
}
