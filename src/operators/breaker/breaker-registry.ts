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
  #imposed: ForcedState | undefined;
  readonly #holders = new Set<string>();
  /** While somebody holds them all open: what each of them is when they are let go. */
  readonly #beneath = new WeakMap<Breaker, ForcedState | undefined>();

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
    this.#beneath.set(made, this.#imposed);
    if (this.forced !== undefined) made.force(this.forced);
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
      this.#takeOver(key, breaker, this);
    }
  }

  /** Tells `watcher` each step of any breaker. Returns a function that ends it. */
  watch(watcher: BreakerWatcher): () => void {
    this.#watchers.add(watcher);
    return () => {
      this.#watchers.delete(watcher);
    };
  }

  /** What is in force for all breakers, those to come among them. */
  get forced(): ForcedState | undefined {
    return this.#holders.size > 0 ? 'open' : this.#imposed;
  }

  /** A person imposes a state on all breakers, those to come among them, or lifts it with `undefined`, whoever holds them. */
  forceAll(state: ForcedState | undefined, nowMs: number): void {
    this.#imposed = state;
    this.#holders.clear();
    for (const [, breaker] of this.entries()) breaker.force(state, nowMs);
  }

  /** A person imposes a state on one breaker, or lifts it, whoever holds them all. */
  force(key: string, state: ForcedState | undefined, nowMs: number): void {
    const breaker = this.find(key);
    if (breaker === undefined) return;
    this.#beneath.set(breaker, state);
    breaker.force(state, nowMs);
  }

  /** Holds all breakers open, those to come among them, until each holder lets go or a person imposes something on all. */
  hold(by: string, nowMs: number): void {
    const held = this.#holders.size > 0;
    this.#holders.add(by);
    if (held) return;
    for (const [, breaker] of this.entries()) {
      this.#beneath.set(breaker, breaker.forced);
      breaker.force('open', nowMs, 'a playbook');
    }
  }

  /** One who holds them no longer does; after the last one they are as persons imposed. */
  letGo(by: string, nowMs: number): void {
    if (!this.#holders.delete(by) || this.#holders.size > 0) return;
    for (const [, breaker] of this.entries()) {
      const beneath = this.#beneath.get(breaker);
      if (breaker.forced !== beneath) breaker.force(beneath, nowMs, 'a playbook');
    }
  }

  /** Takes over what was imposed on the breakers of another registry and who holds them, and nothing else of them. */
  adoptForced(other: BreakerRegistry): void {
    this.#imposed = other.#imposed;
    for (const by of other.#holders) this.#holders.add(by);
    for (const [key, breaker] of other.entries()) this.#takeOver(key, breaker, other);
  }

  /** All breakers with their keys, most recently used first. */
  entries(): Iterable<[string, Breaker]> {
    return this.#breakers.entries();
  }

  /** What was imposed on one breaker alone. @param owner whose it was */
  #takeOver(key: string, breaker: Breaker, owner: BreakerRegistry): void {
    const { forced } = breaker;
    const beneath = owner.#holders.size > 0 ? owner.#beneath.get(breaker) : forced;
    if (beneath === this.#imposed && forced === this.forced) return;
    const made = this.get(key);
    this.#beneath.set(made, beneath);
    made.force(forced);
  }

  #evictSettled(): void {
    for (const key of this.#breakers.rkeys()) {
      if (this.#breakers.peek(key)?.settled !== true) continue;
      this.#breakers.delete(key);
      return;
    }
  }
}
