import type { DeadLetterHistory } from '../../model/dead-letter.ts';
import { causeOf } from '../../model/dead-letters/cause.ts';
import { codeOf, DeadLetterView } from '../../model/dead-letters/dead-letter-view.ts';
import type { Explanation } from '../../model/explanation.ts';
import type { InRecord } from '../../model/record.ts';
import type { Result } from '../../model/result.ts';
import { isoTime } from '../../model/time.ts';

import { attemptSteps } from './attempt-steps.ts';
import { placeIn, placeText } from './places.ts';

const noCure = 'nothing: it is done';

/** The explanation of a record that has ended with a result. @param record where it stands, if that is known */
export function explainResult(ref: string, result: Result, record?: InRecord): Explanation {
  const { id, upstream, status, attempts, timing } = result;
  const times = `${Math.round(timing.totalMs)} ms: ${Math.round(timing.queuedMs)} queued, ${Math.round(timing.limitedMs)} limited, ${Math.round(timing.inFlightMs)} at the upstream`;
  return {
    ref,
    where: 'ended',
    summary: `It has ended as ${status} after ${attempts.length} ${attempts.length === 1 ? 'attempt' : 'attempts'}, in ${times}.`,
    ...{ id, upstream, at: placeIn(result.origin) ?? result.origin },
    steps: [...attemptSteps(attempts), ...(record === undefined ? [] : [endStep(record, 'result written')])],
    waits: [],
    attempts,
    ended: {
      as: 'result',
      how: status,
      why: whyOf(result),
      cure: noCure,
      ...(record === undefined ? {} : { at: placeText(record) }),
    },
  };
}

function whyOf({ status, source, upstream, ageMs }: Result): string {
  switch (status) {
    case 'duplicate':
      return 'a call of the same id was done before, and this is its answer';
    case 'fallback':
      return `there was no live answer, so the ${source} one stands in`;
    case 'cancelled':
      return `it was cancelled before it had any effect at ${upstream}`;
    default:
      return ageMs === undefined
        ? `${upstream} answered`
        : `an answer that ${upstream} had given ${Math.round(ageMs)} ms before was remembered, so it was not called`;
  }
}

/** The explanation of a record that has ended as a dead letter. */
export function explainDeadLetter(ref: string, record: InRecord): Explanation {
  const view = new DeadLetterView(record);
  const { history, id, upstream, reason } = view;
  const { cause, cure } = causeOf(view);
  const attempts = view.attempts;
  return {
    ref,
    where: 'ended',
    summary: `It has ended as a dead letter (${reason}): ${history.message ?? cause}.`,
    ...(id === undefined ? {} : { id }),
    at: view.at,
    upstream,
    steps: [...attemptSteps(attempts), endStep(record, `dead letter written: ${reason}`)],
    waits: [],
    attempts,
    ended: { as: 'dead-letter', how: reason, why: cause, cure, at: view.at },
  };
}

/** The same from what the claim remembers, where the record itself is not at hand. */
export function explainDeadClaim(
  ref: string,
  id: string,
  origin: string,
  history: Partial<DeadLetterHistory>,
): Explanation {
  const { reason = 'outcome_unknown', message = 'too many workers ended while they held it' } = history;
  const attempts = Array.isArray(history.attempts) ? history.attempts : [];
  const { cause, cure } = causeOf({ reason, upstream: history.upstream ?? '', code: codeOf(attempts) });
  const at = placeIn(origin);
  return {
    ref,
    where: 'ended',
    summary: `It has ended as a dead letter (${reason}): ${message}.`,
    id,
    ...(at === undefined ? {} : { at }),
    ...(history.upstream === undefined ? {} : { upstream: history.upstream }),
    steps: attemptSteps(attempts),
    waits: [],
    attempts,
    ended: {
      as: 'dead-letter',
      how: reason,
      why: cause,
      cure: `${cure} \`larkspur dead-letters show ${id}\` shows the call and its answer.`,
    },
  };
}

function endStep(record: InRecord, what: string): { readonly at: string; readonly what: string } {
  return { at: isoTime(record.timestampMs), what: `${what} to ${placeText(record)}` };
}
