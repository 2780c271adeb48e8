import type { TSchema } from '@sinclair/typebox';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';

import { allowed, isTree, nearest, usefulErrors } from '../model/schema-words.ts';

import type { Mistake } from './mistake.ts';
import { configSchema } from './schema.ts';
import { shown } from './secrets.ts';
import { mapLeaves, type Path, pathText, type Tree, valueAt, without } from './tree.ts';

/** Checks what people write against a schema: every mistake, one for each place. */
export function detailedCheck(schema: TSchema): (value: unknown) => readonly Mistake[] {
  const errorsOf = detailedErrors(schema);
  return (value) => mistakesFrom(errorsOf(value), value);
}

function detailedErrors(schema: TSchema): (value: unknown) => readonly ErrorObject[] {
  const validate = new Ajv2020({ allErrors: true, verbose: true, strict: true, allowUnionTypes: true }).compile(schema);
  return (value) => (validate(value) ? [] : (validate.errors ?? []));
}

const configErrors = detailedErrors(configSchema);

/** What became of a written configuration: everything that is wrong, and what remains without the wrong parts. */
export interface Checked {
  readonly mistakes: readonly Mistake[];
  readonly sound: Tree;
}

/**
 * Checks a written configuration against the schema.
 * @param fromEnv whether the text at a path came from the environment, where a number can only be written as text
 */
export function check(written: unknown, fromEnv: (path: string) => boolean): Checked {
  if (!isTree(written)) {
    return { mistakes: [{ path: [], message: 'the configuration must be a map of keys to values' }], sound: {} };
  }
  const value = typed(written, fromEnv);
  const mistakes = mistakesFrom(configErrors(value), value);
  return { mistakes, sound: mistakes.reduce((tree, { path }) => without(tree, path), value) };
}

// Texts from the environment become what the schema asks for, where they can.
function typed(written: Tree, fromEnv: (path: string) => boolean): Tree {
  const wanted = new Set(
    configErrors(written)
      .filter((e) => e.keyword === 'type')
      .map((e) => pathText(pathOf(e.instancePath, written))),
  );
  if (wanted.size === 0) return written;
  const value = mapLeaves(written, (leaf, path) => {
    const at = pathText(path);
    if (typeof leaf !== 'string' || !wanted.has(at) || !fromEnv(at)) return leaf;
    if (/^-?\d+(\.\d+)?$/.test(leaf)) return Number(leaf);
    return leaf === 'true' ? true : leaf === 'false' ? false : leaf;
  });
  return isTree(value) ? value : {};
}

function mistakesFrom(errors: readonly ErrorObject[], value: unknown): Mistake[] {
  const found = new Map<string, Mistake>();
  for (const error of usefulErrors(errors)) {
    const mistake = mistakeFrom(error, value);
    const at = pathText(mistake.path);
    if (!found.has(at)) found.set(at, mistake);
  }
  return [...found.values()];
}

function mistakeFrom(error: ErrorObject, value: unknown): Mistake {
  const path = pathOf(error.instancePath, value);
  const schema = error.parentSchema as Tree;
  const params = error.params as Readonly<Record<string, string>>;
  if (error.keyword === 'additionalProperties') {
    const key = params['additionalProperty'] ?? '';
    if (isTree(schema['patternProperties'])) {
      return { path: [...path, key], message: `is not a name that is allowed here (${String(schema['description'])})` };
    }
    return {
      path: [...path, key],
      message: `is not a known key; ${nearest(key, Object.keys(schema['properties'] as Tree))}`,
    };
  }
  if (error.keyword === 'required') {
    const key = params['missingProperty'] ?? '';
    return { path: [...path, key], message: `is missing, must be ${allowed((schema['properties'] as Tree)[key])}` };
  }
  return { path, message: `is ${shown(path, error.data)}, must be ${allowed(schema)}` };
}

/** Keys and list positions of a JSON pointer. */
function pathOf(pointer: string, value: unknown): Path {
  const path: (string | number)[] = [];
  for (const part of pointer.split('/').slice(1)) {
    const step = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(valueAt(value, path)) ? Number(step) : step);
  }
  return path;
}
