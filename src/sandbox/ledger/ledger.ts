import type { Api } from '../settings.ts';
import { fingerprint, FingerprintTable } from '../state/fingerprint-table.ts';
import { Recent } from '../state/recent.ts';

/** One change of state that a call has made. */
export interface Effect {
  readonly seq: number;
  readonly api: Api;
  readonly app: string;
  /** Ordering key: the call's own `key`, else its receiver. */
  readonly key: string;
  /** Number of the call within its key, if it carries one. */
  readonly n: number | undefined;
  readonly requestId: string | undefined;
  /** The platform's idempotency key that came with the call, if any. */
  readonly idempotencyKey: string | undefined;
  readonly atMs: number;
}

/** How many calls should have taken effect: in all, or per ordering key. */
export interface Expected {
  readonly calls: number | Readonly<Record<string, number>> | ReadonlyMap<string, number>;
}

/** Whether what happened is what should have happened. All but `effects` and `unmarked` should be 0. */
export interface Verdict {
  readonly effects: number;
  /** Effects beyond the first of the same marker. */
  readonly twice: number;
  /** First effects of a marker that came after a later number of the same key. */
  readonly outOfOrder: number;
  /** Expected calls that have had no effect. */
  readonly missing: number;
  /** Effects that carry neither a number nor a request id: nothing can be said of them. */
  readonly unmarked: number;
}

/** What the ledger knows in short, with the latest effects and the first violations in full. */
export interface EffectsReport extends Omit<Verdict, 'missing'> {
  readonly keys: number;
  readonly byApi: Readonly<Record<string, number>>;
  readonly last: readonly Effect[];
  readonly doubles: readonly Effect[];
  readonly swaps: readonly Effect[];
}

interface KeyState {
  readonly index: number;
  highest: number;
  distinct: number;
}

const violationsKept = 100;

/**
 * Everything that took effect. A numbered call is known by (key, n), another by API, key and its `x-request-id`. Per effect it keeps
 * a slot of 24 bytes; per key a small object; details only of the last `details` effects and the first violations.
 */
export class Ledger {
  readonly #recent: Recent<Effect>;
  readonly #keys = new Map<string, KeyState>();
  readonly #byApi = new Map<string, number>();
  #numbered = new FingerprintTable();
  #requests = new FingerprintTable();
  #doubles: Effect[] = [];
  #swaps: Effect[] = [];
  #effects = 0;
  #distinct = 0;
  #twice = 0;
  #outOfOrder = 0;
  #unmarked = 0;

  constructor(details: number) {
    this.#recent = new Recent(details);
  }

  record(effect: Effect): void {
    this.#effects++;
    this.#recent.add(effect);
    this.#byApi.set(effect.api, (this.#byApi.get(effect.api) ?? 0) + 1);
    const key = this.#keyOf(effect.key);
    if (effect.n === undefined && effect.requestId === undefined) {
      this.#unmarked++;
      return;
    }
    if (this.#isDouble(effect, key)) {
      this.#twice++;
      if (this.#doubles.length < violationsKept) this.#doubles.push(effect);
      return;
    }
    this.#distinct++;
    key.distinct++;
    if (effect.n === undefined) return;
    if (effect.n > key.highest) {
      key.highest = effect.n;
      return;
    }
    this.#outOfOrder++;
    if (this.#swaps.length < violationsKept) this.#swaps.push(effect);
  }

  verdict({ calls }: Expected): Verdict {
    return {
      effects: this.#effects,
      twice: this.#twice,
      outOfOrder: this.#outOfOrder,
      missing: this.#missing(calls),
      unmarked: this.#unmarked,
    };
  }

  /** @param last how many of the latest effects to show in full */
  report(last: number): EffectsReport {
    return {
      effects: this.#effects,
      twice: this.#twice,
      outOfOrder: this.#outOfOrder,
      unmarked: this.#unmarked,
      keys: this.#keys.size,
      byApi: Object.fromEntries(this.#byApi),
      last: this.#recent.last(last),
      doubles: this.#doubles,
      swaps: this.#swaps,
    };
  }

  clear(): void {
    this.#recent.clear();
    this.#keys.clear();
    this.#byApi.clear();
    this.#numbered = new FingerprintTable();
    this.#requests = new FingerprintTable();
    this.#doubles = [];
    this.#swaps = [];
    this.#effects = this.#distinct = this.#twice = this.#outOfOrder = this.#unmarked = 0;
  }

  #missing(calls: Expected['calls']): number {
    if (typeof calls === 'number') return Math.max(0, calls - this.#distinct);
    const entries = isMap(calls) ? calls : Object.entries(calls);
    let missing = 0;
    for (const [key, count] of entries) {
      missing += Math.max(0, count - (this.#keys.get(key)?.distinct ?? 0));
    }
    return missing;
  }

  #keyOf(name: string): KeyState {
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = { index: this.#keys.size, highest: -1, distinct: 0 };
      this.#keys.set(name, key);
    }
    return key;
  }

  #isDouble({ api, n, requestId, atMs }: Effect, key: KeyState): boolean {
    const table = n === undefined ? this.#requests : this.#numbered;
    const mark = n === undefined ? fingerprint(`${api} ${key.index} ${requestId ?? ''}`) : { high: key.index, low: n };
    if (table.get(mark) !== undefined) return true;
    table.set(mark, 1, atMs);
    return false;
  }
}

function isMap(calls: object): calls is ReadonlyMap<string, number> {
  return calls instanceof Map;
}
