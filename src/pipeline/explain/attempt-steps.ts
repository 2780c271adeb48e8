import type { Explanation } from '../../model/explanation.ts';
import type { Attempt } from '../../model/result.ts';

/** Attempts as steps of a story. */
export function attemptSteps(attempts: readonly Attempt[]): Explanation['steps'] {
  return attempts.map(({ started, class: outcome, ms, status, code, waitedFor, waitedMs, batchOf }) => {
    const answer = [status, code].filter((one) => one !== undefined).join(', code ');
    const waited = waitedFor === undefined ? '' : `, after ${waitedMs ?? 0} ms of waiting for ${waitedFor}`;
    const together =
      batchOf === undefined ? '' : `, in one request with ${batchOf - 1} other${batchOf === 2 ? '' : 's'}`;
    return {
      at: started,
      what: `attempt: ${outcome}${answer === '' ? '' : ` (${answer})`} in ${ms} ms${waited}${together}`,
    };
  });
}

/** How the last attempt ended, to be put behind a sentence; nothing where there was none. */
export function lastSaid(attempts: readonly Attempt[]): string {
  const last = attempts.at(-1);
  return last === undefined ? '' : `; the last attempt ended with: ${last.message ?? last.class}`;
}
