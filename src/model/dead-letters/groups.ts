import type { DeadLetterView } from './dead-letter-view.ts';
import { filterFields } from './filter.ts';

/** What dead letters can be grouped by. */
export const groupFields = [...filterFields, 'hour', 'day'] as const;

/** A field to group by. */
export type GroupField = (typeof groupFields)[number];

/** Dead letters that are alike. */
export interface DeadLetterGroup {
  /** The value of each field that was grouped by, in that order; `other` in all of them: groups that had no room. */
  readonly values: readonly string[];
  count: number;
  firstMs: number;
  lastMs: number;
  /** `dead-letters/PARTITION/OFFSET` of the newest. */
  newest: string;
}

const otherGroup = 'other';

/** Counts dead letters by some of their fields, in memory that is bounded by `mostGroups` however many there are. */
export class DeadLetterGroups {
  readonly #fields: readonly GroupField[];
  readonly #mostGroups: number;
  readonly #groups = new Map<string, DeadLetterGroup>();

  constructor(fields: readonly GroupField[], mostGroups = 10_000) {
    this.#fields = fields;
    this.#mostGroups = mostGroups;
  }

  add(view: DeadLetterView): void {
    const values = this.#fields.map((field) => view[field] ?? '');
    const group = this.#of(values, view);
    group.count++;
    group.firstMs = Math.min(group.firstMs, view.endedMs);
    if (view.endedMs < group.lastMs) return;
    group.lastMs = view.endedMs;
    group.newest = view.at;
  }

  /** The groups, largest first. */
  list(): readonly DeadLetterGroup[] {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count || b.lastMs - a.lastMs);
  }

  #of(values: readonly string[], view: DeadLetterView): DeadLetterGroup {
    const name = values.join('\u0000');
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const full = this.#groups.size >= this.#mostGroups && values.some((value) => value !== otherGroup);
    if (full)
      return this.#of(
        values.map(() => otherGroup),
        view,
      );
    const group = { values, count: 0, firstMs: view.endedMs, lastMs: view.endedMs, newest: view.at };
    this.#groups.set(name, group);
    return group;
  }
}
