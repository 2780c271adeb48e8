import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';

import { type Call, callFaults, type CallFault, callSchema } from './call.ts';
import { isDateTime } from './date-time.ts';
import { allowed, isTree, nearest, type Tree, usefulErrors } from './schema-words.ts';

/** A call that may be planned, or everything that is wrong with it. */
export type CallCheck =
  { readonly ok: true; readonly call: Call } | { readonly ok: false; readonly faults: readonly CallFault[] };

// More faults than this help nobody and would swell the dead letter.
const mostFaults = 20;

/**
 * An ajv for the contracts, with the one format they use. Costs some milliseconds: make one, keep it.
 * @param detailed all errors, not the first; slower, also for what is right
 */
export function contractAjv(detailed: boolean): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: detailed, verbose: true, strict: true, allowUnionTypes: true });
  ajv.addFormat('date-time', { type: 'string', validate: isDateTime });
  return ajv;
}

const knownFields = new Set(Object.keys(callSchema.properties));
const isCall = contractAjv(false).compile<Call>(callSchema);
// Made when the first wrong call comes.
let explain: ReturnType<Ajv2020['compile']> | undefined;

/**
 * Checks a parsed value against the call contract. Names every wrong field (at most 20) by JSON pointer; values are
 * never repeated, because a call may carry secrets.
 */
export function checkCall(value: unknown): CallCheck {
  if (isCall(value)) {
    const faults = callFaults(value);
    return faults.length === 0 ? { ok: true, call: value } : { ok: false, faults: faults.slice(0, mostFaults) };
  }
  if (!isTree(value)) return { ok: false, faults: [{ at: '', message: 'must be a JSON object with at least a path' }] };
  explain ??= contractAjv(true).compile(callSchema);
  // When what was cut off holds the mistake, at least the first one is known.
  const errors = explain(cut(knownFirst(value))) ? isCall.errors : explain.errors;
  const faults = new Map<string, CallFault>();
  for (const fault of usefulErrors(errors ?? []).map(faultOf)) {
    if (!faults.has(fault.at)) faults.set(fault.at, fault);
  }
  // The other rules still hold for the fields that are sound.
  const wrong = new Set([...faults.keys()].map((at) => at.split('/')[1] ?? ''));
  const sound = Object.entries(value).filter(([key]) => knownFields.has(key) && !wrong.has(key));
  const rest: unknown = { path: '/', ...Object.fromEntries(sound) };
  // Of very many mistakes some were not looked at: then the rest may not be sound either.
  for (const fault of isCall(rest) ? callFaults(rest) : []) {
    if (!faults.has(fault.at)) faults.set(fault.at, fault);
  }
  // A mistake in a field we know tells more than a field we do not know.
  const known = [...faults.values()].filter(({ at }) => knownFields.has(at.split('/')[1] ?? ''));
  return { ok: false, faults: [...new Set([...known, ...faults.values()])].slice(0, mostFaults) };
}

function faultOf(error: ErrorObject): CallFault {
  const schema = error.parentSchema ?? {};
  const params = error.params as Readonly<Record<string, string>>;
  switch (error.keyword) {
    case 'additionalProperties': {
      const key = params['additionalProperty'] ?? '';
      const known = Object.keys((schema['properties'] ?? {}) as object);
      return {
        at: `${error.instancePath}/${pointerStep(key)}`,
        message: `is not a known field; ${nearest(key, known)}`,
      };
    }
    case 'required': {
      const key = params['missingProperty'] ?? '';
      return { at: `${error.instancePath}/${pointerStep(key)}`, message: 'is missing' };
    }
    case 'maxLength':
    case 'maxItems':
      if (error.propertyName !== undefined)
        return { at: error.instancePath, message: `has a name longer than ${params['limit'] ?? ''}` };
      return { at: error.instancePath, message: `is longer than ${params['limit'] ?? ''}` };
    case 'minLength':
    case 'minItems':
      return { at: error.instancePath, message: 'must not be empty' };
    case 'propertyNames':
      return { at: error.instancePath, message: 'has a name that is not allowed' };
    default:
      return { at: error.instancePath, message: `must be ${allowed(schema)}` };
  }
}

/** The same with the known fields in front, so that what is cut off is what nobody knows. */
function knownFirst(value: Tree): Tree {
  const known = Object.entries(value).filter(([key]) => knownFields.has(key));
  return Object.fromEntries([...known, ...Object.entries(value)]);
}

/** A copy with at most 100 entries per map and list, so that a value of a hundred thousand mistakes costs little. */
function cut(value: unknown, depth = 0): unknown {
  if (depth === 3) return value;
  if (Array.isArray(value)) return value.slice(0, 100).map((item: unknown) => cut(item, depth + 1));
  if (!isTree(value)) return value;
  const keys = Object.keys(value).slice(0, 100);
  return Object.fromEntries(keys.map((key) => [key, key === 'body' ? value[key] : cut(value[key], depth + 1)]));
}

function pointerStep(key: string): string {
  return key.slice(0, 200).replaceAll('~', '~0').replaceAll('/', '~1');
}
