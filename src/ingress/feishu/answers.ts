import type { ErrorCode } from '../../model/errors.ts';
import { type HttpResponse, jsonResponse, problemResponse } from '../../model/http.ts';

import type { Taken } from './event-intake.ts';
import type { Refusal } from './open-delivery.ts';

/** To a path that names no app, or one that cannot be verified. */
export function noDoor(): HttpResponse {
  const detail = 'No app of that id takes events here: it needs an encryptKey or a verificationToken in apps.';
  return problemResponse({ status: 404, code: 'not_found', title: 'Not found', detail });
}

/** To a body of another content type. */
export function notJson(): HttpResponse {
  return problemResponse({ status: 415, code: 'bad_request', title: 'Not JSON', detail: 'Send application/json.' });
}

const unproved = 'The request does not prove that it comes from Feishu for this app.';
const refusals: Readonly<Record<Refusal, readonly [status: number, code: ErrorCode, detail: string]>> = {
  unsigned: [401, 'unauthorized', unproved],
  'wrong-signature': [401, 'unauthorized', unproved],
  'wrong-token': [401, 'unauthorized', unproved],
  'wrong-app': [401, 'unauthorized', unproved],
  replayed: [401, 'unauthorized', 'The signed timestamp is too old or too far ahead.'],
  plain: [400, 'bad_request', 'The app has an Encrypt Key: the body must be encrypted.'],
  undecryptable: [400, 'bad_request', 'The body cannot be decrypted.'],
  malformed: [400, 'bad_request', 'The body is no event of Feishu.'],
};

/** To a delivery that is refused. */
export function refusal(why: Refusal): HttpResponse {
  const [status, code, detail] = refusals[why];
  return problemResponse({ status, code, title: 'Not taken', detail });
}

/** To a delivery that was handed to the intake. */
export function answerTo(taken: Taken): HttpResponse {
  switch (taken) {
    case 'stored':
    case 'duplicate':
      return jsonResponse(200, {});
    case 'busy':
    case 'late': {
      const detail = 'The event could not be stored in time. Deliver it again.';
      return problemResponse({
        status: 503,
        code: 'sink_unavailable',
        title: 'Not stored',
        detail,
        retryAfterSeconds: 5,
      });
    }
    case 'too-large': {
      const detail = 'The event is larger than the topic takes.';
      return problemResponse({ status: 413, code: 'record_too_large', title: 'Too large', detail });
    }
  }
}
