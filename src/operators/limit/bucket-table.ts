import type { LimitKey } from '../../ports/profile.ts';

import { Bucket } from './bucket.ts';
import type { Earliest } from './taken.ts';
import { Walk } from './walk.ts';

/** One bucket with a name, for metrics. */
export interface BucketUse {
  readonly label: string;
  /** Share of its fullest window. */
  readonly used: number;
  /** Learned share of its limits. */
  readonly factor: number;
}

const lookedAt = 8;

/** The buckets of one upstream. From `maxBuckets` on idle ones make room; one that matters is never forgotten. */
export class BucketTable {
  readonly #stretchMs: number;
  readonly #maxBuckets: number;
  readonly #byKey = new Map<string, Bucket>();
  readonly #walk = new Walk(this.#byKey);

  constructor(stretchMs: number, maxBuckets: number) {
    this.#stretchMs = stretchMs;
    this.#maxBuckets = maxBuckets;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** The bucket of a limit, made when it is not there, with the windows of the limit. */
  of(limit: LimitKey, nowMs: number): Bucket {
    const known = this.#byKey.get(limit.key);
    if (known !== undefined) {
      known.reshape(limit.windows);
      return known;
    }
    if (this.#byKey.size >= this.#maxBuckets) this.#makeRoom(nowMs);
    const made = new Bucket(limit, this.#stretchMs);
    this.#byKey.set(limit.key, made);
    return made;
  }

  /** The bucket of a key, if it is known. */
  get(key: string): Bucket | undefined {
    return this.#byKey.get(key);
  }

  /** From when on the log is worth asking for a start in all of these, as far as it has said, and which of them decides. */
  worthAsking(limits: readonly LimitKey[], nowMs: number): Earliest {
    let earliest: Earliest = { atMs: nowMs, key: '' };
    for (const { key } of limits) {
      const atMs = this.#byKey.get(key)?.askAtMs ?? nowMs;
      if (atMs > earliest.atMs) earliest = { atMs, key };
    }
    return earliest;
  }

  /** How long an ask for these may wait for others: only where there is too little for all. */
  patienceMs(limits: readonly LimitKey[], nowMs: number): number {
    return Math.max(0, ...limits.map(({ key }) => this.#byKey.get(key)?.patienceMs(nowMs) ?? 0));
  }

  /** The longest time for which any of them is unsure after an outage. */
  unsureForMs(): number {
    return Math.max(0, ...[...this.#byKey.values()].map(({ shadow }) => shadow.unsureForMs));
  }

  /** Those that have a name for metrics: per name the fullest one, and the lowest factor. Walks all of them. */
  uses(nowMs: number): BucketUse[] {
    const byLabel = new Map<string, BucketUse>();
    for (const bucket of this.#byKey.values()) {
      const { label, factor } = bucket;
      if (label === undefined) continue;
      const other = byLabel.get(label);
      const used = Math.max(bucket.shadow.used(nowMs), other?.used ?? 0);
      byLabel.set(label, { label, used, factor: Math.min(factor, other?.factor ?? 1) });
    }
    return [...byLabel.values()];
  }

  /** Looks at a few in turn: idle ones go. */
  #makeRoom(nowMs: number): void {
    for (let looked = 0; looked < lookedAt; looked++) {
      const [key, bucket] = this.#walk.next() ?? [];
      if (key !== undefined && bucket?.idle(nowMs) === true) this.#byKey.delete(key);
    }
  }
}
