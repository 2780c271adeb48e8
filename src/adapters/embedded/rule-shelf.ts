import type { RuleSnapshot } from '../../model/rule.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RuleShelf, Shelved } from '../../ports/rule-shelf.ts';

interface Standing {
  readonly snapshot: RuleSnapshot;
  readonly fence: number;
  readonly untilMs: number;
}

/** {@link RuleShelf} in the memory of the one process that there is. */
export class MemoryRuleShelf implements RuleShelf {
  readonly #clock: Clock;
  #standing: Standing | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(bucket: string): Promise<Shelved> {
    const { snapshot } = this.#live() ?? {};
    const text = snapshot?.buckets.get(bucket);
    if (text !== undefined) return Promise.resolve({ kind: 'rules', text });
    return Promise.resolve({ kind: snapshot === undefined ? 'gone' : 'none' });
  }

  readAll(): Promise<RuleSnapshot | undefined> {
    return Promise.resolve(this.#live()?.snapshot);
  }

  state(): ReturnType<RuleShelf['state']> {
    const live = this.#live();
    if (live === undefined) return Promise.resolve(undefined);
    const leftMs = live.untilMs - this.#clock.now();
    return Promise.resolve({ exportedAtMs: live.snapshot.exportedAtMs, leftMs });
  }

  write(snapshot: RuleSnapshot, fence: number, ttlMs: number): Promise<boolean> {
    const newer = fence >= (this.#live()?.fence ?? 0);
    if (newer) this.#standing = { snapshot, fence, untilMs: this.#clock.now() + ttlMs };
    return Promise.resolve(newer);
  }

  renew(ttlMs: number): Promise<boolean> {
    const live = this.#live();
    if (live !== undefined) this.#standing = { ...live, untilMs: this.#clock.now() + ttlMs };
    return Promise.resolve(live !== undefined);
  }

  ready(): boolean {
    return true;
  }

  #live(): Standing | undefined {
    if (this.#standing !== undefined && this.#clock.now() >= this.#standing.untilMs) this.#standing = undefined;
    return this.#standing;
  }
}
