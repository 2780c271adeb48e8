import type { Verdict } from '../model/outcome.ts';

import type { Ending, Job } from './job.ts';
import { resultOf } from './live-result.ts';

/**
 * Notes that an attempt which started at `sinceMs` may have taken effect; the first one counts. For a call that may be
 * repeated freely it makes no difference, so its fallback and its deadline stay what they are.
 * @param tokenVersion with which token it was made; unknown for an attempt of an earlier owner
 */
export function mayHaveActed(job: Job, sinceMs: number, tokenVersion?: number): void {
  if (job.plan.repeat.kind === 'always') return;
  if (job.ambiguousSinceMs === undefined) {
    job.ambiguousSinceMs = sinceMs;
    job.ambiguousToken = tokenVersion;
  }
  job.ambiguousAttempts++;
}

/** Whether a call whose outcome is unknown may be sent again: freely, or while the platform still knows its key. */
export function mayRepeat({ plan: { repeat }, ambiguousSinceMs }: Job, nowMs: number): boolean {
  switch (repeat.kind) {
    case 'always':
      return true;
    case 'never':
      return ambiguousSinceMs === undefined;
    case 'keyed':
      return ambiguousSinceMs === undefined || nowMs - ambiguousSinceMs < repeat.windowMs;
  }
}

/** Whether the platform still takes the caller for the one whose attempt may have acted: some keys count per token. */
export function keyHolds({ plan: { repeat }, ambiguousSinceMs, ambiguousToken }: Job, tokenVersion?: number): boolean {
  if (repeat.kind !== 'keyed' || repeat.perToken !== true || ambiguousSinceMs === undefined) return true;
  return ambiguousToken !== undefined && ambiguousToken === tokenVersion;
}

/**
 * The ending of a call that may or may not have taken effect and must not be sent again. Where an attempt may have acted,
 * this is the only honest ending but an answer, whatever was said to later attempts.
 * @param later what ended the call, where that was a later attempt
 */
export function unknownOutcome(job: Job, later?: Pick<Verdict, 'class' | 'message'>): Ending {
  const where = `${job.plan.api} at ${job.destination.name} may have taken effect: a request left and no answer came, and`;
  return {
    kind: 'dead-letter',
    reason: 'outcome_unknown',
    class: later?.class ?? 'ambiguous',
    message:
      later === undefined
        ? `${where} this API cannot be asked again safely. Look at the target before you send it again.`
        : `${where} it ended otherwise later (${later.message}). Look at the target before you send it again.`,
  };
}

/** The ending of a call for which no attempt fits before its deadline any more. An unknown outcome stays unknown. */
export function tooLate(job: Job): Ending {
  if (job.ambiguousSinceMs !== undefined) return unknownOutcome(job);
  const waited = job.waitingFor === undefined ? '' : `; it last waited for: ${job.waitingFor}`;
  return {
    kind: 'dead-letter',
    reason: 'deadline_passed',
    message: `no attempt fits before the deadline any more, after ${job.attemptsMade} attempts${waited}`,
  };
}

/** Whether a call ends because nobody wants it: only while nothing that was sent may have taken effect. */
export function isCancelled(job: Job): boolean {
  return job.cancelled && job.ambiguousSinceMs === undefined;
}

/** The ending of a call that nobody wants any more. Its answer is none, so its source is the declared one. */
export function cancelledEnding(job: Job, nowMs: number): Ending {
  return { kind: 'result', result: resultOf(job, nowMs, 'cancelled', 'default', undefined) };
}
