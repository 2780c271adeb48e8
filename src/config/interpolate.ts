import type { Mistake } from './mistake.ts';
import { mapLeaves, pathText } from './tree.ts';

/** Environment variables by name. */
export type Env = Readonly<Record<string, string | undefined>>;

/** A value whose `${NAME}` were replaced. */
export interface Interpolated {
  readonly value: unknown;
  /** Names of the variables that stand in each value, by path text. */
  readonly names: ReadonlyMap<string, string>;
  readonly mistakes: readonly Mistake[];
}

const reference = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces `${NAME}` and `${NAME:-default}` in every text; `$${` stands for `${`. `NAME_FILE` is taken when `NAME` is not
 * set: the variable then is what the file holds. A name that is nowhere set is a mistake.
 *
 * @param readFile gives the text of a file or throws
 */
export function interpolate(tree: unknown, env: Env, readFile: (path: string) => string): Interpolated {
  const names = new Map<string, string>();
  const mistakes: Mistake[] = [];
  const value = mapLeaves(tree, (leaf, path) => {
    if (typeof leaf !== 'string') return leaf;
    return leaf.replace(reference, (whole, name: string | undefined, fallback: string | undefined) => {
      if (name === undefined) return '${';
      names.set(pathText(path), name);
      const found = variable(env, name, readFile);
      if (found.kind === 'value') return found.text;
      if (fallback !== undefined && found.kind === 'unset') return fallback;
      mistakes.push({
        path,
        message: found.kind === 'unset' ? `needs the environment variable ${name}` : found.message,
      });
      return whole;
    });
  });
  return { value, names, mistakes };
}

/** What a variable is: its own value, that of the file it names, nothing (also when empty), or a file nobody can read. */
export function variable(
  env: Env,
  name: string,
  readFile: (path: string) => string,
): { kind: 'value'; text: string } | { kind: 'unset' } | { kind: 'unreadable'; message: string } {
  const own = env[name];
  if (own !== undefined && own !== '') return { kind: 'value', text: own };
  const file = env[`${name}_FILE`];
  if (file === undefined || file === '') return { kind: 'unset' };
  try {
    return { kind: 'value', text: readFile(file).replace(/\r?\n$/, '') };
  } catch {
    return { kind: 'unreadable', message: `${name}_FILE names ${file}, which cannot be read` };
  }
}
