import { Cover } from '../model/cover.ts';

import type { Config } from './config.ts';
import type { Loaded } from './load.ts';
import { isSecret, shown } from './secrets.ts';
import { eachLeaf, mapLeaves, type Path, pathText } from './tree.ts';

/** One value of the configuration, safe to print. */
export interface Described {
  readonly path: string;
  /** Secrets are `***`. */
  readonly value: string;
  /** `default`, `preset NAME`, `FILE:LINE`, `env NAME` or `flag --NAME`. */
  readonly source: string;
}

/** Every value that is in force and where it came from, sorted by path; secrets are masked. */
export function describe({ raw, sources }: Pick<Loaded, 'raw' | 'sources'>): Described[] {
  const lines: Described[] = [];
  eachLeaf(raw, (path, value) => {
    const empty = typeof value === 'object' && value !== null ? (Array.isArray(value) ? '[]' : '{}') : undefined;
    const text = pathText(path);
    lines.push({ path: text, value: empty ?? shown(path, value), source: sources.get(text) ?? 'default' });
  });
  return lines.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Every secret of a configuration, for a log that must not show them. */
export function secretsOf({ raw, config }: Pick<Loaded, 'raw' | 'config'>): string[] {
  return [...secretsIn(raw), ...secretsIn(config.playbooks)];
}

/** What of bodies and messages is kept from people: the members that the configuration names, and its secrets. */
export function coverOf(config: Config): Cover {
  return new Cover(config.maskFields, secretsIn(config));
}

function secretsIn(tree: object): string[] {
  const found = new Set<string>();
  mapLeaves(tree, (value: unknown, path: Path) => {
    if (typeof value !== 'string') return value;
    if (isSecret(path)) found.add(value);
    const password = /^\w+:\/\/[^/?#]*:([^/?#]*)@/.exec(value)?.[1];
    if (password !== undefined && password !== '') {
      found.add(password);
      found.add(decoded(password));
    }
    return value;
  });
  return [...found];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
