import type { DeadLetterHistory, DeadLetterReason } from '../model/dead-letter.ts';
import { type HttpResponse, jsonResponse, problemResponse } from '../model/http.ts';
import { jsonOf } from '../model/json-levels.ts';
import type { ClaimView } from '../ports/claim-store.ts';

// What people read when there is no answer, and whether the same call under a new id may do better.
const endings: Readonly<Record<DeadLetterReason, { readonly detail: string; readonly again: boolean }>> = {
  invalid_call: { detail: 'The call is not valid. Correct it and send it under a new id.', again: false },
  undecodable: { detail: 'The call could not be read. Correct it and send it under a new id.', again: false },
  permanent: { detail: 'The upstream refused the call for good. Sending the same again gives the same.', again: false },
  attempts_exhausted: { detail: 'The upstream did not answer in several attempts. Try again later.', again: true },
  deadline_passed: { detail: 'No answer came before the deadline of the call. Try again later.', again: true },
  outcome_unknown: {
    detail: 'The call may have taken effect, but its answer was lost. Look at the upstream before you send it again.',
    again: false,
  },
  auth_failed: {
    detail: 'The upstream does not accept the credentials of the app. Somebody has to look.',
    again: false,
  },
  response_too_large: { detail: 'The answer of the upstream is larger than may be kept.', again: false },
  unroutable: { detail: 'No upstream or app of that name is configured.', again: false },
};

const laterSeconds = { again: 5, never: 3_600 };

/**
 * The answer about a call that has ended, or `undefined` while it has not: its result as it stands in `results`, or,
 * when it ended as a dead letter, 503 with `Retry-After` and a problem for people (`code: no_answer`, the dead letter's
 * `reason`, `repeatable`, its attempts).
 */
export function answerOf(id: string, view: ClaimView): HttpResponse | undefined {
  switch (view.kind) {
    case 'processed':
      return { ...jsonResponse(200, null), body: view.result };
    case 'dead':
      return noAnswer(id, view.result);
    case 'unknown':
    case 'pending':
    case 'failed':
      return undefined;
  }
}

function noAnswer(id: string, historyJson: string): HttpResponse {
  const { reason, message, upstream, attempts } = historyOf(historyJson);
  const ending = reason === undefined ? undefined : endings[reason];
  return problemResponse({
    status: 503,
    code: 'no_answer',
    title: 'The call ended without an answer',
    detail: ending?.detail ?? 'The call ended as a dead letter.',
    id,
    retryAfterSeconds: ending?.again === false ? laterSeconds.never : laterSeconds.again,
    more: { reason, repeatable: ending?.again ?? true, message, upstream, attempts },
  });
}

/** The store holds what the worker wrote; of another version's only the detail is lost. */
function historyOf(json: string): Partial<DeadLetterHistory> {
  const value = jsonOf(json);
  return typeof value === 'object' && value !== null ? value : {};
}
