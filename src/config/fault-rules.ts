import { Type } from '@sinclair/typebox';

import { type InjectedFault, injectedFaultSchema, ruleFaults } from '../model/injected-fault.ts';
import { isTree } from '../model/schema-words.ts';

import { detailedCheck } from './check.ts';
import { type Mistake, mistakeText } from './mistake.ts';
import type { Path } from './tree.ts';

const checkList = detailedCheck(Type.Object({ rules: Type.Array(injectedFaultSchema, { maxItems: 100 }) }));

/** Rules of faults, or every mistake in them with its place. */
export type ReadFaults =
  | { readonly rules: readonly InjectedFault[]; readonly mistakes?: never }
  | { readonly rules?: never; readonly mistakes: readonly string[] };

/** Reads `{ "rules": [...] }` or a bare list. */
export function readFaultRules(input: unknown): ReadFaults {
  const value = { rules: isTree(input) ? input['rules'] : input };
  const wrong = checkList(value);
  const mistakes = [
    ...wrong,
    ...soundOf(value.rules, wrong).flatMap(([index, rule]) => parameterMistakes(rule, ['rules', index])),
  ];
  if (mistakes.length > 0) return { mistakes: mistakes.map((mistake) => mistakeText(mistake)) };
  return { rules: value.rules as InjectedFault[] };
}

function soundOf(rules: unknown, wrong: readonly Mistake[]): (readonly [number, InjectedFault])[] {
  if (!Array.isArray(rules)) return [];
  const bad = new Set(wrong.map(({ path }) => path[1]));
  return [...(rules as InjectedFault[]).entries()].filter(([index]) => !bad.has(index));
}

/** Parameters that do not belong to the kind of their rule. @param at where the rule stands */
export function parameterMistakes(rule: InjectedFault, at: Path): Mistake[] {
  return ruleFaults(rule).map(({ key, message }) => ({ path: [...at, key], message }));
}
