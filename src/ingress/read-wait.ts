import type { Fault } from '../model/http.ts';

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** Reads `?wait=`: a number with the unit `ms`, `s` or `m`; absent is 0. A longer wait than allowed is a fault. */
export function readWait(text: string | undefined, longestMs: number): { readonly waitMs: number } | Fault {
  if (text === undefined) return { waitMs: 0 };
  const [, amount, unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?)(ms|s|m)$/.exec(text) ?? [];
  const waitMs = Number(amount) * (unitMs[unit] ?? Number.NaN);
  if (Number.isNaN(waitMs)) return { at: 'wait', message: 'must be a number with a unit: 500ms, 3s' };
  if (waitMs > longestMs) return { at: 'wait', message: `must be at most ${longestMs / 1000}s` };
  return { waitMs };
}
