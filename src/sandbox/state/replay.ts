import { fingerprint, FingerprintTable } from './fingerprint-table.ts';

/** What the platform knows of a key: nothing, being worked on, or done as effect `seq` at `atMs`. */
export type Known =
  | { readonly state: 'new' }
  | { readonly state: 'in-flight' }
  | { readonly state: 'done'; readonly seq: number; readonly atMs: number };

/** Idempotency keys of one hour: within it the first effect is answered again. Afterwards a repeat acts anew. */
export class Replay {
  readonly #windowMs: number;
  #done: FingerprintTable;
  readonly #inFlight = new Set<string>();
  #hits = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
    this.#done = new FingerprintTable(windowMs);
  }

  /** Times a key was answered from memory. */
  get hits(): number {
    return this.#hits;
  }

  begin(key: string, nowMs: number): Known {
    if (this.#inFlight.has(key)) return { state: 'in-flight' };
    const done = this.#done.get(fingerprint(key));
    if (done !== undefined && nowMs - done.atMs < this.#windowMs) {
      this.#hits++;
      return { state: 'done', seq: done.value, atMs: done.atMs };
    }
    this.#inFlight.add(key);
    return { state: 'new' };
  }

  end(key: string, seq: number, atMs: number): void {
    this.#inFlight.delete(key);
    this.#done.set(fingerprint(key), seq, atMs);
  }

  clear(): void {
    this.#done = new FingerprintTable(this.#windowMs);
    this.#inFlight.clear();
    this.#hits = 0;
  }
}
