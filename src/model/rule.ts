import type { Event } from './event.ts';
import { jsonOf } from './json-levels.ts';
import type { RouteSpec } from './route.ts';
import { isTree } from './schema-words.ts';

/** A route that stands in a table beside the configuration. */
export interface Rule {
  readonly spec: RouteSpec;
  /** Its place among all rules; of two at one place the name decides. */
  readonly position: number;
}

/** All rules, by bucket, as they are shelved: a text per bucket. */
export interface RuleSnapshot {
  readonly buckets: ReadonlyMap<string, string>;
  /** When they were read from their source, epoch milliseconds. */
  readonly exportedAtMs: number;
  readonly rules: number;
}

// Longer names stand in no rule: who sends such types must not fill a cache with them.
const longestName = 128;

/** The bucket of a rule: one for each app and type, one for the patterns of each app, and the same for rules of all apps. */
export function bucketOf({ app, on }: Pick<RouteSpec, 'app' | 'on'>): string {
  return `${app ?? '*'}/${on.includes('*') ? '*' : on}`;
}

/** The buckets in which rules for an event may stand. */
export function bucketsFor({ app, type }: Pick<Event, 'app' | 'type'>): readonly string[] {
  const patterns = [`${app}/*`, '*/*'];
  return type.length > longestName ? patterns : [`${app}/${type}`, `*/${type}`, ...patterns];
}

/** Puts rules into their buckets. */
export function snapshotOf(rules: readonly Rule[], exportedAtMs: number): RuleSnapshot {
  const byBucket = new Map<string, Rule[]>();
  for (const rule of rules) {
    const bucket = bucketOf(rule.spec);
    const others = byBucket.get(bucket);
    if (others === undefined) byBucket.set(bucket, [rule]);
    else others.push(rule);
  }
  const buckets = new Map([...byBucket].map(([bucket, all]) => [bucket, JSON.stringify(all)] as const));
  return { buckets, exportedAtMs, rules: rules.length };
}

const kinds: ReadonlySet<unknown> = new Set(['http', 'call', 'answer', 'topic']);

/** The rules of a bucket's text; what a later version wrote and this one does not know is left out. */
export function rulesIn(text: string): readonly Rule[] {
  const all = jsonOf(text);
  return Array.isArray(all) ? all.filter(isRule) : [];
}

function isRule(value: unknown): value is Rule {
  if (!isTree(value) || typeof value['position'] !== 'number' || !isTree(value['spec'])) return false;
  const { name, on, to } = value['spec'];
  return typeof name === 'string' && typeof on === 'string' && isTree(to) && kinds.has(to['kind']);
}

/** The order of rules. */
export function byPosition(a: Rule, b: Rule): number {
  return a.position - b.position || (a.spec.name < b.spec.name ? -1 : 1);
}
