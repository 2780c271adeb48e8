import type { Ending, Job } from './job.ts';

/**
 * Notes that an attempt which started at `sinceMs` may have taken effect; the first one counts. For a call that may be
 * repeated freely it makes no difference, so its fallback and its deadline stay what they are.
 */
export function mayHaveActed(job: Job, sinceMs: number): void {
  if (job.plan.repeat.kind !== 'always') job.ambiguousSinceMs ??= sinceMs;
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

/** The ending of a call that may or may not have taken effect and must not be sent again. */
export function unknownOutcome(job: Job): Ending {
  return {
    kind: 'dead-letter',
    reason: 'outcome_unknown',
    class: 'ambiguous',
    message:
      `${job.plan.api} at ${job.destination.name} may have taken effect: the request left and no answer came, and this ` +
      `API cannot be asked again safely. Look at the target before you send it again.`,
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
