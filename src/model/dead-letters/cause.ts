import type { DeadLetterReason } from '../dead-letter.ts';

/** Why a record ended as a dead letter, and what to do about it, in plain words. */
export interface Cause {
  readonly cause: string;
  readonly cure: string;
}

/** What of a dead letter its cause is told by. */
export interface Told {
  readonly reason: string;
  readonly upstream: string;
  /** What the last attempt was answered, see `DeadLetterView.code`. */
  readonly code: string;
}

const byReason: Readonly<Record<DeadLetterReason, Cause>> = {
  invalid_call: {
    cause: 'The value is JSON, but no call: a field is missing, misspelt or has a value that is not allowed.',
    cure: 'Correct the producer by the faults below and produce it anew. A redrive sends the same bytes and ends here again.',
  },
  undecodable: {
    cause: 'The value is no JSON in UTF-8.',
    cure: 'Look at what produces to this topic: another format, or bytes that were cut. A redrive ends here again.',
  },
  permanent: {
    cause: 'The upstream understood the call and refused it for good.',
    cure: 'Read its answer below, mend what it names, then redrive: the same call may be accepted then.',
  },
  attempts_exhausted: {
    cause:
      'Every attempt failed, and the call had no more of them: the upstream was down, or too slow, for longer than it may be tried.',
    cure: 'Look whether the upstream is well again (`larkspur explain`, /admin/api-health), then redrive.',
  },
  deadline_passed: {
    cause: 'The answer was no longer wanted when its turn came: the deadline of the call, or its ttlMs, was over.',
    cure: 'See what it waited for below. A call with ttlMs can be redriven, its time counts anew; one with a deadline needs a new one.',
  },
  outcome_unknown: {
    cause:
      'A request left and its answer was lost. It may have taken effect, and this API has no key that would make a repeat safe now.',
    cure: 'Look at the target: is it done? If not, redrive it by name: --reason outcome_unknown or --id.',
  },
  auth_failed: {
    cause: 'The platform does not take the credentials of the app, or the user has withdrawn the consent.',
    cure: 'Check id, secret and state of the app in the developer console (`larkspur doctor`), or let the user log in again; then redrive.',
  },
  response_too_large: {
    cause: 'The call was made, and its answer is larger than may be kept. It has taken effect.',
    cure: 'Do not redrive a write. Raise maxResponseBytes of the upstream, or ask for less (page_size, fields).',
  },
  unroutable: {
    cause: 'No upstream, or no app, of that name is configured.',
    cure: 'Add it to the configuration (or correct the name in the producer), restart the workers, then redrive.',
  },
};

// Refusals of Feishu that a person meets most; numbers as in its documentation.
const byCode: Readonly<Record<string, Cause>> = {
  '99991672': {
    cause: 'The app lacks a permission scope that this API needs.',
    cure: 'Add the scope named in the answer in the developer console, publish a version, let the tenant approve it; then redrive.',
  },
  '99991676': {
    cause: 'The token lacks a permission scope that this API needs.',
    cure: 'Add the scope in the developer console, publish a version, let the tenant approve it; then redrive.',
  },
  '99991679': {
    cause: 'The user has not granted a scope that this API needs.',
    cure: 'Let the user log in again with the scope named in the answer; then redrive.',
  },
  '230002': {
    cause: 'The bot is not in that chat.',
    cure: 'Add the bot to the chat, or correct receive_id; then redrive.',
  },
  '230013': {
    cause: 'That user is outside the availability of the app.',
    cure: 'Widen the availability of the app in the developer console, or leave that user out; then redrive.',
  },
};

const unknownReason: Cause = {
  cause: 'This version does not know that reason.',
  cure: 'Read the history below; a newer worker may have written it.',
};

/** Explains a dead letter. */
export function causeOf({ reason, upstream, code }: Told): Cause {
  const known = upstream === 'feishu' ? byCode[code] : undefined;
  if (known !== undefined && (reason === 'permanent' || reason === 'auth_failed')) return known;
  return Object.hasOwn(byReason, reason) ? byReason[reason as DeadLetterReason] : unknownReason;
}
