import { isTree } from '../model/schema-words.ts';

/** A place in the configuration: keys and list positions from the top. */
export type Path = readonly (string | number)[];

/** A plain object: what a YAML map becomes. */
export type Tree = Readonly<Record<string, unknown>>;

/** `upstreams.news.limits[0].perSecond`. */
export function pathText(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/** The value at a path, or `undefined`. */
export function valueAt(tree: unknown, path: Path): unknown {
  let value = tree;
  for (const step of path) {
    if (Array.isArray(value)) value = value[Number(step)] as unknown;
    else if (isTree(value) && Object.hasOwn(value, step)) value = value[step];
    else return undefined;
  }
  return value;
}

/** Calls `visit` for every value that is neither a non-empty map nor a non-empty list. */
export function eachLeaf(value: unknown, visit: (path: Path, leaf: unknown) => void, path: Path = []): void {
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item: unknown, index) => [index, item] as const)
    : isTree(value)
      ? Object.entries(value)
      : [];
  if (entries.length === 0) visit(path, value);
  for (const [step, item] of entries) eachLeaf(item, visit, [...path, step]);
}

/** A copy in which every leaf is what `change` makes of it. */
export function mapLeaves(value: unknown, change: (leaf: unknown, path: Path) => unknown, path: Path = []): unknown {
  if (Array.isArray(value)) return value.map((item: unknown, index) => mapLeaves(item, change, [...path, index]));
  if (!isTree(value)) return change(value, path);
  return treeOf(Object.entries(value).map(([key, item]) => [key, mapLeaves(item, change, [...path, key])]));
}

/**
 * A copy without the value at a path. A wrong item takes its whole list along, because the items behind it would
 * change their places.
 */
export function without(tree: Tree, path: Path): Tree {
  const cut = path.findIndex((step) => typeof step === 'number');
  const [step, ...rest] = cut === -1 ? path : path.slice(0, cut);
  if (step === undefined) return {};
  return treeOf(
    Object.entries(tree).flatMap(([key, value]) => {
      if (key !== step) return [[key, value]];
      return rest.length > 0 && isTree(value) ? [[key, without(value, rest)]] : [];
    }),
  );
}

/** Maps merge key by key; anything else is replaced by the upper value. */
export function merge(lower: unknown, upper: unknown): unknown {
  if (upper === undefined) return lower;
  if (!isTree(lower) || !isTree(upper)) return upper;
  const keys = new Set([...Object.keys(lower), ...Object.keys(upper)]);
  return treeOf([...keys].map((key) => [key, merge(own(lower, key), own(upper, key))]));
}

// `__proto__` is a key like any other here: defined as an own property, it changes nothing but the map.
function treeOf(entries: readonly (readonly [string, unknown])[]): Tree {
  return Object.fromEntries(entries);
}

function own(tree: Tree, key: string): unknown {
  return Object.hasOwn(tree, key) ? tree[key] : undefined;
}
