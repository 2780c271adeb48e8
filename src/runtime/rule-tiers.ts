import { randomUUID } from 'node:crypto';

import type { ReadinessCheck } from '../adapters/http/admin-routes.ts';
import { MysqlRuleSource } from '../adapters/mysql/rule-source.ts';
import { openRoutes } from '../adapters/routes/routes.ts';
import { FileRuleSource } from '../adapters/rules/file-source.ts';
import { RuleExport } from '../adapters/rules/rule-export.ts';
import { RuleReading } from '../adapters/rules/rule-reading.ts';
import { RuleTable } from '../adapters/rules/rule-table.ts';
import type { Config, RouteTableConfig } from '../config/config.ts';
import { type TableRules, tableRules } from '../config/route-table.ts';
import { readYaml } from '../config/yaml-source.ts';
import { LarkspurError, messageOf } from '../model/errors.ts';
import type { RouteSpec } from '../model/route.ts';
import { byPosition } from '../model/rule.ts';
import { isoTime } from '../model/time.ts';
import type { Timers } from '../ports/clock.ts';
import type { EventRoutes } from '../ports/event-routes.ts';
import type { Route } from '../ports/route.ts';
import type { RuleSource } from '../ports/rule-source.ts';

import type { Stores, WorldParts } from './stores.ts';

/** The table of routes of a process, in its three tiers. */
export interface RuleTiers extends EventRoutes {
  /** Not ready until it was filled once; from then on old rules serve when there are no newer ones. */
  readiness(): readonly ReadinessCheck[];
  /** What works at present without a tier, for people. */
  state(): RuleTiersState;
  /** Looks no more. */
  stop(): void;
}

/** How the tiers are. */
export interface RuleTiersState {
  readonly source: string;
  readonly rules: number | undefined;
  /** How old what this process knows of the shelf's rules is. */
  readonly exportedAt: string | undefined;
  /** What has to be done without, and why; empty: nothing. */
  readonly degraded: readonly string[];
}

const stateEveryMs = 5_000;

/**
 * Opens the tiers: reads the table, or what another process has read of it.
 * @param known asked at each reading: routes whose names are taken, and upstreams that rules may lead to
 */
export function openRuleTiers(
  known: () => Pick<Config, 'routes' | 'upstreams'>,
  table: RouteTableConfig,
  stores: Stores,
  parts: WorldParts,
): RuleTiers {
  const { clock, timers, random, log, metrics } = parts;
  const { shelf } = stores;
  const world = { clock, timers, random, log, metrics };
  const source = sourceOf(table, parts);
  const reading = new RuleReading({
    ...{ ...world, source, shelf },
    check: (raw, before) => tableRules(raw, before, known(), (spec) => mistakeIn(spec, timers)),
  });
  const { exportMs, sharedMs: ttlMs, freshMs, entries: maxEntries, bytes: maxBytes } = table;
  const exported = new RuleExport({
    ...{ ...world, shelf, reading, exportMs, ttlMs },
    claims: stores.tokenClaims,
    process: randomUUID(),
  });
  const rules = new RuleTable({
    ...{ ...world, shelf, reading, freshMs },
    open: (spec) => opened(openRoutes([spec], timers).routes),
    onGone: () => exported.poke(),
    bounds: { maxEntries, maxBytes },
    idleMs: ttlMs,
  });
  const degraded = (): readonly string[] => [
    ...(shelf.ready()
      ? []
      : ['the rules that all share cannot be read: those in memory serve, unknown ones come from the source']),
    ...(reading.failure === undefined ? [] : [`the source of the rules cannot be read: ${reading.failure.message}`]),
  ];
  metrics.gauge('larkspur_rules_degraded', '1 while a tier of the rules cannot be asked', ['tier'], () => [
    [{ tier: 'shared' }, shelf.ready() ? 0 : 1],
    [{ tier: 'source' }, reading.failure === undefined ? 0 : 1],
  ]);
  const seen = watchShelf(stores, parts);
  metrics.gauge(
    'larkspur_rules_age_seconds',
    'Time since the rules that all share were read from their source',
    [],
    () => {
      const atMs = seen.exportedAtMs();
      return atMs === undefined ? [] : [[{}, Math.max(0, clock.wall() - atMs) / 1_000]];
    },
  );
  exported.start();
  rules.start();
  const tiers: RuleTiers = {
    routesFor: (event) => rules.routesFor(event),
    readiness: () => [
      rules.warm
        ? { name: 'rules', ready: true }
        : { name: 'rules', ready: false, reason: reading.failure?.message ?? 'the table of routes is being read' },
    ],
    state: () => {
      const atMs = seen.exportedAtMs();
      return {
        source: source.name,
        rules: reading.last?.rules,
        exportedAt: atMs === undefined ? undefined : isoTime(atMs),
        degraded: degraded(),
      };
    },
    stop: () => {
      exported.stop();
      rules.stop();
      seen.stop();
    },
  };
  return tiers;
}

/** The rules of the table as they stand there now, and why others were not taken. Rejects where it cannot be read. */
export async function readTable(config: Config, table: RouteTableConfig, timers: Timers): Promise<TableRules> {
  const raw = await sourceOf(table, { timers }).readAll();
  const { rules, refused } = tableRules(raw, [], config, (spec) => mistakeIn(spec, timers));
  return { rules: [...rules].sort(byPosition), refused };
}

function sourceOf({ source, timeoutMs }: RouteTableConfig, { timers }: Pick<WorldParts, 'timers'>): RuleSource {
  if (source.kind === 'mysql') return new MysqlRuleSource({ ...source, timeoutMs, timers });
  return new FileRuleSource({ file: source.file, parse: (text) => listIn(text, source.file), timeoutMs, timers });
}

function listIn(text: string, file: string): readonly unknown[] {
  const { value, mistakes } = readYaml(text, file);
  if (mistakes.length > 0) throw new Error(mistakes.map(({ message }) => message).join('; '));
  if (!Array.isArray(value)) throw new Error('it must hold a list of routes');
  return value;
}

/** Why a rule cannot be made ready to run. */
function mistakeIn(spec: RouteSpec, timers: Timers): string | undefined {
  try {
    openRoutes([spec], timers);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function opened([route]: readonly Route[]): Route {
  if (route === undefined) throw new LarkspurError('internal', 'a rule has become no route');
  return route;
}

/** Knows when what stands on the shelf was read, a few seconds late. */
function watchShelf({ shelf }: Stores, { timers }: WorldParts) {
  let exportedAtMs: number | undefined;
  let cancel = (): void => undefined;
  let stopped = false;
  const look = async (): Promise<void> => {
    const state = shelf.ready() ? await shelf.state().catch(() => undefined) : undefined;
    exportedAtMs = state?.exportedAtMs ?? exportedAtMs;
    if (!stopped) cancel = timers.after(stateEveryMs, () => void look());
  };
  void look();
  return {
    exportedAtMs: () => exportedAtMs,
    stop: () => {
      stopped = true;
      cancel();
    },
  };
}
