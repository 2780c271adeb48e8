import { type Life, NearCache, type NearCacheBounds } from '../../operators/cache/near-cache.ts';
import type { Clock } from '../../ports/clock.ts';

/** What a look into the next tier brought: a value, that there is none, or nothing that is better than what is kept. */
export type Loaded<V> = (Life & { readonly value: V | undefined }) | 'keep';

/** What is known of a key. `undefined`: that there is nothing. */
export interface Known<V> {
  readonly value: V | undefined;
}

/** What a {@link LoadingCache} stands on. */
export interface LoadingCacheParts<V> {
  readonly bounds: NearCacheBounds;
  readonly sizeOf: (value: V) => number;
  readonly clock: Clock;
  /**
   * Looks into the next tier; rejects while that cannot be asked. At most one look per key is under way.
   * @param kept what is kept at the moment of the call of this function
   */
  readonly load: (key: string, kept: () => V | undefined) => Promise<Loaded<V>>;
  /** Whether the next tier can be asked at present. */
  readonly ready: () => boolean;
  /** After a look that brought nothing newer, the next one comes so much later. Asked each time. */
  readonly againMs: () => number;
}

/**
 * The tier of this process in front of another one. Who asks gets at once what is kept, and where it is no longer new a single look
 * goes on behind; while the next tier is away what is kept serves on.
 */
export class LoadingCache<V> {
  readonly #parts: LoadingCacheParts<V>;
  readonly #near: NearCache<V>;
  readonly #looks = new Map<string, Promise<Known<V>>>();

  constructor(parts: LoadingCacheParts<V>) {
    this.#parts = parts;
    this.#near = new NearCache(parts.bounds, parts.sizeOf);
  }

  /** Entries at present. */
  get size(): number {
    return this.#near.size;
  }

  /** What is known of a key, at once; `undefined`: nothing, not even that there is none. */
  known(key: string): Known<V> | undefined {
    const { clock } = this.#parts;
    const kept = this.#near.get(key, clock.now());
    if (kept === undefined) return undefined;
    if (clock.now() >= kept.freshUntilMs) this.#lookBehind(key);
    return kept;
  }

  /** Looks into the next tier now, or joins the look that is under way: what is known after it. Rejects while it cannot be asked. */
  look(key: string): Promise<Known<V>> {
    const under = this.#looks.get(key);
    if (under !== undefined) return under;
    const { load, clock, againMs } = this.#parts;
    const kept = (): V | undefined => this.#near.get(key, clock.now())?.value;
    const look = load(key, kept)
      .then(
        (loaded): Known<V> => {
          if (loaded !== 'keep') this.put(key, loaded.value, loaded);
          else this.#near.refresh(key, againMs(), clock.now());
          return { value: loaded === 'keep' ? kept() : loaded.value };
        },
        (error: unknown) => {
          this.#near.refresh(key, againMs(), clock.now());
          throw error;
        },
      )
      .finally(() => this.#looks.delete(key));
    this.#looks.set(key, look);
    return look;
  }

  /** Keeps a value, or with `undefined` that there is none. */
  put(key: string, value: V | undefined, life: Life): void {
    this.#near.put(key, value, life, this.#parts.clock.now());
  }

  #lookBehind(key: string): void {
    const { ready, againMs, clock } = this.#parts;
    if (ready()) this.look(key).catch(() => undefined);
    else this.#near.refresh(key, againMs(), clock.now());
  }
}
