import type { ParkedCall } from '../ports/parked-register.ts';

/** A call that is outside, as this worker knows it. */
export interface AwayCall extends ParkedCall {
  /** Not before, monotonic: of one that left from here, for which nobody's wall clock is needed. */
  readonly untilMs?: number;
}

/** Calls of one key that wait outside, by offset. */
interface Line {
  /** Ascending, from `first` on; those that are not in `calls` any more are passed over when they come first. */
  offsets: number[];
  first: number;
  readonly calls: Map<number, AwayCall>;
}

/** The keys of one partition that have calls outside, and which of those comes first. No I/O, no clock. */
export class ParkedKeys {
  readonly #lines = new Map<string, Line>();
  readonly #keyOf = new Map<number, string>();

  constructor(calls: Iterable<AwayCall> = []) {
    for (const call of calls) this.add(call);
  }

  /** Keys with calls outside. */
  get size(): number {
    return this.#lines.size;
  }

  /** Calls outside. */
  get calls(): number {
    return this.#keyOf.size;
  }

  has(offset: number): boolean {
    return this.#keyOf.has(offset);
  }

  /** A call leaves, or waits anew. */
  add(call: AwayCall): void {
    const { key, offset } = call;
    if (this.#keyOf.get(offset) !== key) this.remove(offset);
    let line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, (line = { offsets: [], first: 0, calls: new Map() }));
    if (!line.calls.has(offset)) insert(line, offset);
    line.calls.set(offset, call);
    this.#keyOf.set(offset, key);
  }

  /** A call has its ending. */
  remove(offset: number): void {
    const key = this.#keyOf.get(offset);
    const line = key === undefined ? undefined : this.#lines.get(key);
    if (key === undefined || line === undefined) return;
    this.#keyOf.delete(offset);
    line.calls.delete(offset);
    if (line.calls.size === 0) this.#lines.delete(key);
  }

  /** The first call of a key, where it stands before that offset: it has to end first. */
  ahead(key: string, offset: number): AwayCall | undefined {
    const line = this.#lines.get(key);
    if (line === undefined) return undefined;
    for (; ; line.first++) {
      const first = line.offsets[line.first];
      if (first === undefined || first >= offset) return undefined;
      const call = line.calls.get(first);
      if (call !== undefined) return call;
    }
  }

  /** The first call of a key, before that offset, that is not among `besides`. */
  aheadBesides(key: string, offset: number, besides: ReadonlySet<number>): AwayCall | undefined {
    const line = this.#lines.get(key);
    if (line === undefined) return undefined;
    for (let at = line.first; ; at++) {
      const one = line.offsets[at];
      if (one === undefined || one >= offset) return undefined;
      const call = besides.has(one) ? undefined : line.calls.get(one);
      if (call !== undefined) return call;
    }
  }
}

/** Mostly at the end: calls leave in their order. */
function insert(line: Line, offset: number): void {
  if (line.first > 1_000 && line.first * 2 > line.offsets.length) {
    line.offsets = line.offsets.slice(line.first);
    line.first = 0;
  }
  const { offsets, first } = line;
  let at = offsets.length;
  while (at > first && (offsets[at - 1] ?? 0) > offset) at--;
  // What was passed over as gone may come again.
  if (at === first || offsets[at - 1] !== offset) offsets.splice(at, 0, offset);
}
