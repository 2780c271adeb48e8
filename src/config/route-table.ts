import { isDeepStrictEqual } from 'node:util';

import type { RouteSpec } from '../model/route.ts';
import type { Rule } from '../model/rule.ts';
import { isTree } from '../model/schema-words.ts';

import { detailedCheck } from './check.ts';
import type { Config, RouteTableConfig } from './config.ts';
import { routeTableDefaults } from './defaults.ts';
import type { Report } from './not-above.ts';
import { notAbove } from './not-above.ts';
import { routeTargets, targetOf } from './routes.ts';
import { type RawRule, ruleSchema } from './schema-route-table.ts';
import type { RawConfig } from './schema.ts';
import { pathText } from './tree.ts';

/** Makes the section ready for use. */
export function compileRouteTable(raw: NonNullable<RawConfig['routeTable']>): RouteTableConfig {
  const { file, mysql, table = 'routing_rules', ...numbers } = raw;
  const source =
    mysql === undefined ? { kind: 'file' as const, file: file ?? '' } : { kind: 'mysql' as const, url: mysql, table };
  return { source, ...routeTableDefaults, ...numbers };
}

/** Rules between the values of the section. */
export function routeTableRules({ routeTable: table }: RawConfig, report: Report): void {
  if (table === undefined) return;
  if ((table.file === undefined) === (table.mysql === undefined)) {
    report(['routeTable'], 'must have one of file, mysql');
  }
  if (table.mysql === undefined && table.table !== undefined) {
    report(['routeTable', 'table'], 'is only for mysql');
  }
  // A snapshot lives on by being renewed at half of its life; a reader asks for it many times in that.
  notAbove(report, ['routeTable', 'freshMs'], table.freshMs, 'routeTable.sharedMs', table.sharedMs);
}

const check = detailedCheck(ruleSchema);

/** Rules of a table, sorted into what can be used and what cannot. */
export interface TableRules {
  readonly rules: readonly Rule[];
  readonly refused: readonly { readonly rule: string; readonly message: string }[];
}

/**
 * Checks what a table holds. A rule that is wrong keeps its words of before, where it was there; the others are taken.
 * @param before the rules as they were
 * @param mistakeIn what is wrong with the expressions of a rule; asked for those that are new or changed
 */
export function tableRules(
  raw: readonly unknown[],
  before: readonly Rule[],
  config: Pick<Config, 'routes' | 'upstreams'>,
  mistakeIn: (spec: RouteSpec) => string | undefined,
): TableRules {
  const known = new Map(before.map((rule) => [rule.spec.name, rule]));
  const taken = new Set(config.routes.map(({ name }) => name));
  const rules: Rule[] = [];
  const refused: { rule: string; message: string }[] = [];
  for (const [index, written] of raw.entries()) {
    const read = readRule(written, index, taken, config);
    const mistake = 'spec' in read ? mistakeUnlessKnown(read, known, mistakeIn) : read.message;
    if ('spec' in read && mistake === undefined) {
      taken.add(read.spec.name);
      rules.push(read);
      continue;
    }
    const name = isTree(written) && typeof written['name'] === 'string' ? written['name'].slice(0, 100) : undefined;
    const last = name === undefined || taken.has(name) ? undefined : known.get(name);
    if (last !== undefined) {
      taken.add(last.spec.name);
      rules.push(last);
    }
    const message = `the rule ${last === undefined ? 'is left out' : 'stays as it was'}: ${mistake ?? ''}`;
    refused.push({ rule: name ?? `number ${index + 1}`, message });
  }
  return { rules, refused };
}

function mistakeUnlessKnown(
  { spec }: Rule,
  known: ReadonlyMap<string, Rule>,
  mistakeIn: (spec: RouteSpec) => string | undefined,
): string | undefined {
  return isDeepStrictEqual(known.get(spec.name)?.spec, spec) ? undefined : mistakeIn(spec);
}

function readRule(
  written: unknown,
  index: number,
  taken: ReadonlySet<string>,
  { upstreams }: Pick<Config, 'upstreams'>,
): Rule | { readonly message: string } {
  if (!isTree(written)) return { message: 'it must be a map of keys to values' };
  const checked = withoutNulls(written);
  const [first] = check(checked);
  if (first !== undefined) return { message: `${pathText(first.path)} ${first.message}`.trim() };
  const rule = checked as RawRule;
  const { name, on, app, when, position = index } = rule;
  if (taken.has(name)) return { message: `the name ${name} is that of another route` };
  const targets = routeTargets.filter((target) => target !== 'handler' && rule[target] !== undefined);
  if (targets.length !== 1) {
    return { message: `it leads to ${targets.join(' and ') || 'nothing'}, must have one of http, call, answer, topic` };
  }
  const to = targetOf(rule);
  if (to.kind === 'http' && upstreams[to.upstream] === undefined) {
    const { http = '' } = rule;
    const declared = Object.values(upstreams).find(({ baseUrl }) => baseUrl === new URL(http).origin);
    if (declared === undefined) return { message: `${new URL(http).origin} is the address of no declared upstream` };
    return { spec: { name, on, app, when, to: { ...to, upstream: declared.name } }, position };
  }
  return { spec: { name, on, app, when, to }, position };
}

/** A column that holds nothing is a key that was left out. */
function withoutNulls(tree: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(tree).filter(([, value]) => value !== null));
}
