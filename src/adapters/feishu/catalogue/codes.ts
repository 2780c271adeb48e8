import { readFileSync } from 'node:fs';

import type { OutcomeClass, VerdictKind } from '../../../model/outcome.ts';

/** How an error code of the platform is judged. */
export interface CodeRule {
  readonly class: OutcomeClass;
  readonly kind: VerdictKind;
  /** `unknown`, `partly`: the call may have taken effect although it failed. */
  readonly effect: 'none' | 'unknown' | 'partly' | 'done';
}

/** One row of the catalogue. */
export interface CodeEntry extends CodeRule {
  readonly code: number;
  /** Services whose pages print it, most pages first; empty: the platform in general. */
  readonly services: readonly string[];
  /** HTTP statuses that a page prints beside it. */
  readonly statuses: readonly number[];
  /** Win over the rule, in this order. */
  readonly exceptions: readonly CodeException[];
}

/** A case in which a code means something else. */
export interface CodeException extends CodeRule {
  readonly when:
    | { readonly text: string } // the message contains it, in any case
    | { readonly status: number }
    | { readonly service: string };
}

/** All codes by number. */
export type CodeCatalogue = ReadonlyMap<number, CodeEntry>;

/** A kind decides class and effect; the table holds kinds alone. */
const ruleOfKind = {
  success: { class: 'success', kind: 'ok', effect: 'done' },
  duplicate: { class: 'duplicate', kind: 'duplicate', effect: 'done' },
  rate: { class: 'rate-limited', kind: 'rate', effect: 'none' },
  quota: { class: 'quota', kind: 'quota', effect: 'none' },
  internal: { class: 'retryable', kind: 'internal', effect: 'unknown' },
  conflict: { class: 'retryable', kind: 'conflict', effect: 'none' },
  wait: { class: 'retryable', kind: 'wait', effect: 'none' },
  token: { class: 'auth', kind: 'token', effect: 'none' },
  credential: { class: 'auth', kind: 'credential', effect: 'none' },
  consent: { class: 'auth', kind: 'consent', effect: 'none' },
  timeout: { class: 'ambiguous', kind: 'timeout', effect: 'unknown' },
  partial: { class: 'ambiguous', kind: 'partial', effect: 'partly' },
  permission: { class: 'permanent', kind: 'permission', effect: 'none' },
  gone: { class: 'permanent', kind: 'gone', effect: 'none' },
  recipient: { class: 'permanent', kind: 'recipient', effect: 'none' },
  invalid: { class: 'permanent', kind: 'invalid', effect: 'none' },
} as const satisfies Record<string, CodeRule>;

/** An exception names a class; this is the kind that it stands for. */
const kindOfClass = {
  permanent: 'invalid',
  retryable: 'internal',
  'rate-limited': 'rate',
  duplicate: 'duplicate',
  quota: 'quota',
  auth: 'token',
} as const;

let loaded: CodeCatalogue | undefined;

/** The codes that come with this version, read once per process. */
export function codeCatalogue(): CodeCatalogue {
  loaded ??= parseCodes(readFileSync(new URL('codes.tsv', import.meta.url), 'utf8'));
  return loaded;
}

/** Reads the catalogue from tab-separated text: a header line, then one code per line. */
export function parseCodes(text: string): CodeCatalogue {
  const codes = new Map<number, CodeEntry>();
  for (const line of text.trimEnd().split('\n').slice(1)) {
    const [number, kind, services, statuses, exceptions] = line.split('\t');
    const code = Number(number);
    codes.set(code, {
      code,
      ...ruleOfKind[kind as keyof typeof ruleOfKind],
      services: services ? services.split(',') : [],
      statuses: statuses ? statuses.split(',').map(Number) : [],
      exceptions: exceptions ? exceptions.split(',').map(parseException) : [],
    });
  }
  return codes;
}

function parseException(item: string): CodeException {
  const [condition = '', outcome = ''] = item.split('=');
  const rule = ruleOfKind[kindOfClass[outcome as keyof typeof kindOfClass]];
  if (condition.startsWith('text~')) return { ...rule, when: { text: condition.slice(5) } };
  const status = Number(condition);
  return { ...rule, when: Number.isNaN(status) ? { service: condition } : { status } };
}

/**
 * The rule for a code as this service means it, or `undefined` when it is unknown there. Codes of the long connection
 * (1, 403, 514 ...) mean nothing in an HTTP answer of another service.
 */
export function ruleOf(
  codes: CodeCatalogue,
  code: number,
  seen: { readonly status: number; readonly service: string; readonly text: string },
): CodeRule | undefined {
  const entry = codes.get(code);
  if (entry === undefined) return undefined;
  if (entry.services.length === 1 && entry.services[0] === 'ws' && seen.service !== 'ws') return undefined;
  for (const exception of entry.exceptions) {
    const { when } = exception;
    if ('text' in when && seen.text.toLowerCase().includes(when.text)) return exception;
    if ('status' in when && seen.status === when.status) return exception;
    if ('service' in when && seen.service === when.service) return exception;
  }
  return entry;
}
