/** 64 bits that stand for a key. Among a million keys two meet with a chance of about 3 in 10^8. */
export interface Fingerprint {
  readonly high: number;
  readonly low: number;
}

/** Two FNV-1a lanes with different offsets and multipliers, each finished by an avalanche. */
export function fingerprint(text: string): Fingerprint {
  let high = 0x811c_9dc5;
  let low = 0x1b87_3593;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x0100_0193);
    low = Math.imul(low ^ unit, 0x27d4_eb2f);
    low ^= low >>> 15;
  }
  return { high: avalanche(high ^ text.length), low: avalanche(low) };
}

function avalanche(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * A map from fingerprint to (value, time) in typed arrays: 24 bytes a slot and no object per entry, because a run of a
 * million calls must not cost a gigabyte. Open addressing, linear probing, at most two thirds full.
 */
export class FingerprintTable {
  #high: Uint32Array;
  #low: Uint32Array;
  #values: Float64Array; // 0 = free slot
  #times: Float64Array;
  #mask: number;
  #size = 0;
  readonly #keepMs: number;

  /** @param keepMs entries older than this are dropped when the table grows; `Infinity` keeps all */
  constructor(keepMs = Infinity) {
    this.#keepMs = keepMs;
    const capacity = 1024;
    this.#high = new Uint32Array(capacity);
    this.#low = new Uint32Array(capacity);
    this.#values = new Float64Array(capacity);
    this.#times = new Float64Array(capacity);
    this.#mask = capacity - 1;
  }

  /** Entries held, expired ones included until the next growth. */
  get size(): number {
    return this.#size;
  }

  /** What is stored under the key. */
  get(key: Fingerprint): { readonly value: number; readonly atMs: number } | undefined {
    const slot = this.#slotOf(key);
    const value = this.#values[slot] ?? 0;
    return value === 0 ? undefined : { value, atMs: this.#times[slot] ?? 0 };
  }

  /** Stores `value` (not 0) under the key, over what was there. */
  set(key: Fingerprint, value: number, atMs: number): void {
    const slot = this.#slotOf(key);
    const isNew = this.#values[slot] === 0;
    this.#high[slot] = key.high;
    this.#low[slot] = key.low;
    this.#values[slot] = value;
    this.#times[slot] = atMs;
    if (!isNew) return;
    this.#size++;
    if (this.#size * 3 > (this.#mask + 1) * 2) this.#rebuild(atMs - this.#keepMs);
  }

  #slotOf({ high, low }: Fingerprint): number {
    let slot = avalanche(Math.imul(high, 0x9e37_79b1) ^ low) & this.#mask;
    while (this.#values[slot] !== 0 && !(this.#high[slot] === high && this.#low[slot] === low)) {
      slot = (slot + 1) & this.#mask;
    }
    return slot;
  }

  #rebuild(oldestMs: number): void {
    const [high, low, values, times] = [this.#high, this.#low, this.#values, this.#times];
    let live = 0;
    for (const [slot, value] of values.entries()) if (value !== 0 && (times[slot] ?? 0) >= oldestMs) live++;
    // At most half full afterwards, so that growth is rare; the same size when most entries had expired.
    const capacity = Math.max(1024, 2 ** Math.ceil(Math.log2(live * 2 + 1)));
    this.#high = new Uint32Array(capacity);
    this.#low = new Uint32Array(capacity);
    this.#values = new Float64Array(capacity);
    this.#times = new Float64Array(capacity);
    this.#mask = capacity - 1;
    this.#size = 0;
    for (const [slot, value] of values.entries()) {
      const atMs = times[slot] ?? 0;
      if (value !== 0 && atMs >= oldestMs) this.set({ high: high[slot] ?? 0, low: low[slot] ?? 0 }, value, atMs);
    }
  }
}
