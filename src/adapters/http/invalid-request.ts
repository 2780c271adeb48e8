import { type Fault, type HttpResponse, problemResponse } from '../../model/http.ts';

/** The answer to a request with mistakes: 400 that tells all of them. */
export function invalidRequest(faults: readonly Fault[]): HttpResponse {
  const detail = faults.map(({ at, message }) => `${at === '' ? 'the body' : at} ${message}`).join('; ');
  return problemResponse({ status: 400, code: 'bad_request', title: 'Not a valid request', detail, faults });
}
