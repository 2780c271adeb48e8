import { defaults, routeTableDefaults, serviceDefaults, upstreamDefaults } from './defaults.ts';
import { preset } from './presets.ts';
import { hookUpstreams } from './routes.ts';
import type { RawUpstream } from './schema-upstream.ts';
import type { RawConfig } from './schema.ts';
import { eachLeaf, merge, type Path, pathText, valueAt } from './tree.ts';

/** A configuration in the words of the file with every value present, and where each came from. */
export interface Complete {
  readonly value: RawConfig;
  /** By path text: `default`, `preset gateway`, `a route`, or what {@link complete} was given for a written value. */
  readonly sources: ReadonlyMap<string, string>;
}

/**
 * Lays written values over presets over defaults. The upstream `feishu` is always there.
 * @param written sound: without mistakes that the schema finds
 * @param sourceOf where a written value came from
 */
export function complete(written: RawConfig, sourceOf: (path: Path) => string): Complete {
  const presets: RawConfig = { upstreams: {} };
  const bases: RawConfig = {
    ...defaults,
    ...(written.kafka === undefined ? {} : { kafka: serviceDefaults.kafka }),
    ...(written.redis === undefined ? {} : { redis: serviceDefaults.redis }),
    ...(written.tracing === undefined ? {} : { tracing: serviceDefaults.tracing }),
    ...(written.routeTable === undefined ? {} : { routeTable: tableDefaults(written.routeTable) }),
  };
  const ups: Record<string, RawUpstream> = {};
  const presetUps: Record<string, RawUpstream> = {};
  const hooks = hookUpstreams(written.routes);
  for (const name of new Set(['feishu', ...Object.keys(written.upstreams ?? {}), ...Object.keys(hooks)])) {
    const own = written.upstreams?.[name] ?? {};
    const under = { ...hooks[name], ...(own.preset === undefined ? {} : preset(own.preset, name)) };
    presetUps[name] = under;
    ups[name] = upstreamDefaults(name, merge(under, own) as RawUpstream);
  }
  for (const [name, own] of Object.entries(written.upstreams ?? {})) {
    const upstream = ups[name];
    if (own.groups === undefined || upstream === undefined) continue;
    const above = merge(presetUps[name] ?? {}, own) as RawUpstream;
    upstream.groups = groupDefaults(name, above, own.groups);
  }
  const below = merge({ ...bases, upstreams: ups }, { ...presets, upstreams: presetUps });
  const value = merge(below, written) as RawConfig;

  const sources = new Map<string, string>();
  eachLeaf(value, (path) => {
    sources.set(pathText(path), source(path, written, presetUps, sourceOf));
  });
  return { value, sources };
}

/** What holds for the groups of an upstream: what is written for it, and what follows from that and from what the group says. */
function groupDefaults(
  name: string,
  { groups: _groups, ...upstream }: RawUpstream,
  groups: NonNullable<RawUpstream['groups']>,
): NonNullable<RawUpstream['groups']> {
  return Object.fromEntries(
    Object.entries(groups).map(([group, { paths: _paths, tier: _tier, ...own }]) => {
      const written = merge(upstream, own) as RawUpstream;
      const whole = merge(upstreamDefaults(name, written), written) as RawUpstream;
      const { concurrency, concurrencyFloor, connections, timeouts, retry, breaker } = whole;
      const all = { concurrency, concurrencyFloor, connections, timeouts, retry, breaker };
      return [group, Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))];
    }),
  );
}

function tableDefaults({ mysql }: NonNullable<RawConfig['routeTable']>): NonNullable<RawConfig['routeTable']> {
  return mysql === undefined ? routeTableDefaults : { ...routeTableDefaults, table: 'routing_rules' };
}

function source(
  path: Path,
  written: RawConfig,
  presets: Readonly<Record<string, RawUpstream>>,
  sourceOf: (path: Path) => string,
): string {
  if (valueAt(written, path) !== undefined) return sourceOf(path);
  // What a group leaves out is what its upstream says.
  if (path[0] === 'upstreams' && path[2] === 'groups') {
    return source([...path.slice(0, 2), ...path.slice(4)], written, presets, sourceOf);
  }
  const name = path[1];
  if (path[0] === 'upstreams' && typeof name === 'string' && valueAt(presets[name], path.slice(2)) !== undefined) {
    const named = written.upstreams?.[name]?.preset;
    return named === undefined ? 'a route' : `preset ${named}`;
  }
  return 'default';
}
