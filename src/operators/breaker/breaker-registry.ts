import { LRUCache } from 'lru-cache';

import type { Random } from '../../ports/random.ts';

import { Breaker, type BreakerChange, type ForcedState } from './breaker.ts';
import type { BreakerOptions } from './options.ts';

/** How a {@link BreakerRegistry} makes and bounds its breakers. */
export interface BreakerRegistryOptions {
  /** Options of the breaker for a key, asked once when it is made. */
  readonly optionsOf: (key: string) => BreakerOptions;
  readonly random: Random;
  /** Breakers kept at most; default 10,000 (about 8 MB). */
  readonly max?: number;
}

/** Told of a step of a breaker at once, from within: it must not ask a breaker for a permit. */
export type BreakerWatcher = (key: string, change: BreakerChange, breaker: Breaker) => void;

/**
 * One breaker per key, made when first asked for. Bounded: the least recently used one goes first, but one that is not
 * closed is kept as long as a closed one can go instead.
 */
export class BreakerRegistry {
  #options: BreakerRegistryOptions;
  readonly #breakers: LRUCache<string, Breaker>;
  readonly #watchers = new Set<BreakerWatcher>();
  #forced: ForcedState | undefined;

  constructor(options: BreakerRegistryOptions) {
    this.#options = options;
    this.#breakers = new LRUCache({ max: options.max ?? 10_000 });
  }

  /** The breaker of a key. */
  get(key: string): Breaker {
    const known = this.#breakers.get(key);
    if (known !== undefined) return known;
    if (this.#breakers.size >= this.#breakers.max) this.#evictSettled();
    const { optionsOf, random } = this.#options;
    const made: Breaker = new Breaker(optionsOf(key), random, (change) => {
      for (const watcher of this.#watchers) watcher(key, change, made);
    });
    if (this.#forced !== undefined) made.force(this.#forced);
    this.#breakers.set(key, made);
    return made;
  }

  /** The breaker of a key if there is one; asking does not count as use. */
  find(key: string): Breaker | undefined {
    return this.#breakers.peek(key);
  }

  /** Drops the breaker of a key, so that the next use makes one with fresh options. */
  forget(key: string): void {
    this.#breakers.delete(key);
  }

  /**
   * Asks `optionsOf` from now on. Breakers of keys that have changed are made anew, and what a person imposed on them stays; the others
   * keep their state.
   */
  replaceOptions(optionsOf: (key: string) => BreakerOptions, changed: (key: string) => boolean): void {
    this.#options = { ...this.#options, optionsOf };
    for (const [key, breaker] of [...this.entries()]) {
      if (!changed(key)) continue;
      this.forget(key);
      if (breaker.forced !== this.#forced) this.get(key).force(breaker.forced);
    }
  }

  /** Tells `watcher` each step of any breaker. Returns a function that ends it. */
  watch(watcher: BreakerWatcher): () => void {
    this.#watchers.add(watcher);
    return () => {
      this.#watchers.delete(watcher);
    };
  }

  /** What a person imposed on all breakers, those to come among them. */
  get forced(): ForcedState | undefined {
    return this.#forced;
  }

  /** Imposes a state on all breakers, those to come among them, or lifts it with `undefined`. */
  forceAll(state: ForcedState | undefined, nowMs: number): void {
    this.#forced = state;
    for (const [, breaker] of this.entries()) breaker.force(state, nowMs);
  }

  /** Takes over what a person imposed on the breakers of another registry, and nothing else of them. */
  adoptForced(other: BreakerRegistry): void {
    this.#forced = other.forced;
    for (const [key, breaker] of other.entries()) {
      if (breaker.forced !== this.#forced) this.get(key).force(breaker.forced);
    }
  }

  /** All breakers with their keys, most recently used first. */
  entries(): Iterable<[string, Breaker]> {
    return this.#breakers.entries();
  }

  #evictSettled(): void {
    for (const key of this.#breakers.rkeys()) {
      if (this.#breakers.peek(key)?.settled !== true) continue;
      this.#breakers.delete(key);
      return;
    }
  }
}
