import type { ErrorObject } from 'ajv';

/** A map of unknown values. */
export type Tree = Readonly<Record<string, unknown>>;

/** Whether a value is a map. */
export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a schema takes, in words. */
export function allowed(schema: unknown): string {
  if (!isTree(schema)) return 'left out';
  const description = typeof schema['description'] === 'string' ? schema['description'] : undefined;
  if ('const' in schema) return String(schema['const']);
  if (Array.isArray(schema['anyOf'])) {
    const branches = schema['anyOf'] as readonly unknown[];
    const sections = branches.filter((branch) => isTree(branch) && branch['type'] === 'object').length;
    // Several sections in one choice read badly key by key: such a choice describes itself.
    if (sections > 1 && description !== undefined) return description;
    return [...new Set(branches.map(allowed))].join(' or ');
  }
  switch (schema['type']) {
    case 'integer':
      return `a whole number${range(schema)}`;
    case 'number':
      return `a number${range(schema)}`;
    case 'boolean':
      return 'true or false';
    case 'string':
      if (schema['format'] === 'date-time') return 'a point in time as in 2026-01-31T12:00:00Z';
      if (typeof schema['pattern'] !== 'string') return 'a text';
      return description === undefined ? `a text that fits ${schema['pattern']}` : `a text: ${description}`;
    case 'array':
      return `a list of ${range(schema, 'Items')}entries, each ${allowed(schema['items'])}`;
    default: {
      const keys = isTree(schema['properties']) ? Object.keys(schema['properties']) : [];
      return keys.length === 0 ? 'a section' : `a section with ${keys.join(', ')}`;
    }
  }
}

/** Points to the key that was probably meant, else lists what there is. */
export function nearest(key: string, known: readonly string[]): string {
  const [best] = known
    .map((name) => ({ name, distance: editDistance(key.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const close = best !== undefined && best.distance <= Math.max(1, Math.floor(best.name.length / 3));
  return close ? `did you mean ${best.name}?` : `allowed here: ${known.join(', ')}`;
}

function range(schema: Tree, suffix: 'imum' | 'Items' = 'imum'): string {
  const bound = (name: string) => {
    const value = schema[name];
    return typeof value === 'number' ? value : undefined;
  };
  const min = bound(`min${suffix}`);
  const max = bound(`max${suffix}`);
  if (suffix === 'Items') return min === undefined && max === undefined ? '' : `${min ?? 0} to ${max ?? 'many'} `;
  const above = bound('exclusiveMinimum');
  if (above !== undefined) return ` above ${above}, at most ${max ?? 'any'}`;
  if (min === undefined) return '';
  return max === undefined ? `, at least ${min}` : ` from ${min} to ${max}`;
}

/** Insertions, deletions and replacements between two words (Wagner and Fischer 1974). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/**
 * The errors worth showing, out of those that ajv gives with `allErrors` and `verbose`. A choice (`anyOf`) reports the
 * errors of each of its branches: when the value is a section and one branch takes sections, that branch's errors are
 * the useful ones, else the choice itself is.
 * @param most errors looked at; what a hostile value can cost stays bounded
 */
export function usefulErrors(errors: readonly ErrorObject[], most = 400): ErrorObject[] {
  const some = errors.slice(0, most);
  return some.filter((error) => !isNoise(error, some));
}

function isNoise(error: ErrorObject, errors: readonly ErrorObject[]): boolean {
  if (error.keyword === 'anyOf') return sectionBranch(error) !== undefined;
  return errors.some((choice) => {
    if (choice.keyword !== 'anyOf' || !error.schemaPath.startsWith(`${choice.schemaPath}/`)) return false;
    if (!`${error.instancePath}/`.startsWith(`${choice.instancePath}/`)) return false;
    const branch = sectionBranch(choice);
    return branch === undefined || !error.schemaPath.startsWith(`${choice.schemaPath}/${branch}/`);
  });
}

function sectionBranch(choice: ErrorObject): number | undefined {
  if (!isTree(choice.data)) return undefined;
  const branches = (choice.schema as readonly Tree[]).flatMap((b, index) => (b['type'] === 'object' ? [index] : []));
  return branches.length === 1 ? branches[0] : undefined;
}
