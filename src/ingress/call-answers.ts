import { type Fault, type HttpResponse, jsonResponse, problemResponse } from '../model/http.ts';

import type { Intake } from './intake.ts';

const resultPath = (id: string): string => `/v1/results/${encodeURIComponent(id)}`;

/** 202: the call is stored. */
export function accepted(id: string): HttpResponse {
  return jsonResponse(202, { id, status: 'accepted', result: resultPath(id) }, { location: resultPath(id) });
}

/** 202: the call has not ended. */
export function pending(id: string): HttpResponse {
  return jsonResponse(202, { id, status: 'pending', result: resultPath(id) }, { 'retry-after': '1' });
}

/** 202: nobody will send the call; or somebody has it in hand, and was told that nobody wants it. */
export function cancelled(id: string, status: 'cancelled' | 'cancelling'): HttpResponse {
  return jsonResponse(202, { id, status, result: resultPath(id) }, { location: resultPath(id) });
}

/** 409: there is nothing to cancel any more. */
export function endedBefore(id: string): HttpResponse {
  const result = resultPath(id);
  const detail = `The call has ended. Its result is at ${result}.`;
  return problemResponse({
    status: 409,
    code: 'conflict',
    title: 'Too late to cancel',
    detail,
    id,
    more: { result },
  });
}

/** 400: no call can have such an id. */
export function unreadableId(): HttpResponse {
  return invalid([{ at: 'id', message: 'must be 1 to 512 visible ASCII characters' }], 400);
}

/** 404: nothing is known of the call. */
export function unknown(id: string): HttpResponse {
  const detail = 'No worker has begun a call of this id, or its result is no longer kept.';
  return problemResponse({ status: 404, code: 'not_found', title: 'Unknown call', detail, id });
}

/** 400 to what cannot be read, 422 to what can and is no call. */
export function invalid(faults: readonly Fault[], status: 400 | 422 = 422): HttpResponse {
  const detail = faults.map(({ at, message }) => `${at === '' ? 'the body' : at} ${message}`).join('; ');
  const code = status === 400 ? 'bad_request' : 'call_invalid';
  return problemResponse({ status, code, title: 'The call is not valid', detail, faults });
}

/** 403: the client may not make the call. */
export function forbidden(fault: Fault): HttpResponse {
  const detail = `${fault.at} ${fault.message}`;
  return problemResponse({ status: 403, code: 'forbidden', title: 'Not yours to call', detail, faults: [fault] });
}

/** 429: the client has used up its rate. */
export function tooMany(waitMs: number): HttpResponse {
  const detail = 'This client hands in more calls than it may. Send this one again later.';
  const retryAfterSeconds = waitMs / 1_000;
  return problemResponse({ status: 429, code: 'rate_limited', title: 'Too many calls', detail, retryAfterSeconds });
}

/** 504: the wait is over, the call goes on. */
export function stillGoing(id: string): HttpResponse {
  const result = resultPath(id);
  const detail = `The wait is over, the call goes on. Its result will be at ${result}.`;
  return problemResponse({ status: 504, code: 'timed_out', title: 'No answer yet', detail, id, more: { result } });
}

/** 503: the upstream is out for longer than the client waits; the call is kept. */
export function outOfOrder(id: string, upstream: string, forMs: number): HttpResponse {
  const result = resultPath(id);
  const detail = `${upstream} is out of order at present. The call is kept and made when it is back; its result will be at ${result}.`;
  const title = 'Please try again later';
  const more = { upstream, result };
  const retryAfterSeconds = forMs / 1_000;
  return problemResponse({ status: 503, code: 'upstream_unavailable', title, detail, id, retryAfterSeconds, more });
}

/** 413 or 503: the call was not stored. */
export function notTaken(taken: Exclude<Intake, { kind: 'written' }>, id: string): HttpResponse {
  switch (taken.kind) {
    case 'too-large':
      return tooLarge(taken.limitBytes, id);
    case 'busy':
      return unavailable(id, 'Too many calls wait to be stored; this one was not taken.');
    case 'late':
      return unavailable(
        id,
        'The call was not stored in time, but may be yet. Send it again under the same id: it counts once.',
      );
  }
}

/** 413: more bytes than a call may have. */
export function tooLarge(limitBytes: number, id?: string): HttpResponse {
  const detail = `The call is larger than the ${limitBytes} bytes that are taken.`;
  const about = id === undefined ? {} : { id };
  return problemResponse({ status: 413, code: 'record_too_large', title: 'Too large', detail, ...about });
}

/** 503: calls cannot be stored. */
export function unavailable(id: string | undefined, detail: string): HttpResponse {
  const about = id === undefined ? {} : { id };
  const title = 'Not stored';
  return problemResponse({ status: 503, code: 'sink_unavailable', title, detail, retryAfterSeconds: 5, ...about });
}

/** 503: the store of results does not answer. */
export function unknowable(id: string): HttpResponse {
  const detail = 'The store of results does not answer at present.';
  const title = 'Not known now';
  return problemResponse({ status: 503, code: 'redis_unavailable', title, detail, id, retryAfterSeconds: 5 });
}
