import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';

/** A stretch of the run, and what goes wrong in it. */
interface Stretch {
  readonly what: string;
  /** Where it begins and ends, as shares of the run. */
  readonly from: number;
  readonly to: number;
  readonly rules: readonly object[];
}

const well: readonly object[] = [];

/** One stretch after the other: others use up the quota, an outage, answers that do not come in time, tokens that die. */
export const stretches: readonly Stretch[] = [
  { what: 'well', from: 0, to: 0.1, rules: well },
  { what: '429', from: 0.1, to: 0.2, rules: [{ kind: '429', resetSeconds: 1 }] },
  { what: 'well', from: 0.2, to: 0.3, rules: well },
  { what: '503', from: 0.3, to: 0.5, rules: [{ kind: '503' }] },
  { what: 'well', from: 0.5, to: 0.6, rules: well },
  // The effect is there at once, its answer too late: who asks again without a key does it twice.
  { what: 'timeouts', from: 0.6, to: 0.75, rules: [{ kind: 'hang', rate: 0.6, delayMs: 30_000 }] },
  { what: 'well', from: 0.75, to: 0.85, rules: well },
  { what: 'token loss', from: 0.85, to: 0.95, rules: [{ kind: 'token-revoked', rate: 0.2 }] },
  { what: 'well', from: 0.95, to: 1, rules: well },
];

/** Plays the stretches to a sandbox, from now on. Returns a function that ends it. */
export function playFaults(sandbox: Sandbox, runMs: number): () => void {
  const timers = stretches.map(({ from, rules }) => setTimeout(() => sandbox.setFaults(rules), from * runMs));
  return () => {
    for (const timer of timers) clearTimeout(timer);
    sandbox.setFaults([]);
  };
}
