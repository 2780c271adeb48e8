import { configSchema } from './schema.ts';

/**
 * The JSON Schema of `larkspur.yaml` for editors. Where a number or a choice is wanted, a text with `${NAME}` is taken
 * as well: it is replaced before the checks.
 */
export function editorSchema(): unknown {
  const plain = JSON.parse(JSON.stringify(configSchema)) as Record<string, unknown>;
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...withReferences(plain, true) };
}

type Json = Record<string, unknown>;

const reference = { type: 'string', pattern: '\\$\\{' };

function withReferences(schema: Json, top = false): Json {
  const copy: Json = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties' || key === 'patternProperties') {
      copy[key] = Object.fromEntries(
        Object.entries(value as Json).map(([name, s]) => [name, withReferences(s as Json)]),
      );
    } else if (key === 'items') copy[key] = withReferences(value as Json);
    else if (key === 'anyOf') copy[key] = (value as Json[]).map((branch) => withReferences(branch, true));
    else copy[key] = value;
  }
  if (top || schema['type'] === 'object' || schema['type'] === 'array') return copy;
  // Any value at all takes a text already.
  if (schema['type'] === undefined && schema['anyOf'] === undefined) return copy;
  if (schema['type'] === 'string' && schema['pattern'] === undefined) return copy;
  const { description, ...rest } = copy;
  const branches = Array.isArray(rest['anyOf']) ? (rest['anyOf'] as Json[]) : [rest];
  return { ...(description === undefined ? {} : { description }), anyOf: [...branches, reference] };
}
