import { jsonOrText } from '../model/json-levels.ts';
import type { Answer } from '../model/outcome.ts';
import type { Result } from '../model/result.ts';
import type { CachedAnswer } from '../ports/answer-cache.ts';

import type { Job, Judged } from './job.ts';

type Response = NonNullable<Result['response']>;

/** The result of a call that its upstream answered. */
export function liveResult({ job, verdict, answer }: Judged, nowMs: number): Result {
  if (answer === undefined) return resultOf(job, nowMs, 'ok', 'live', undefined);
  const response = responseOf(answer);
  if (response.body !== undefined) response.body = job.destination.cover.tree(response.body);
  if (verdict.code !== undefined) response.code = verdict.code;
  if (verdict.logId !== undefined) response.logId = verdict.logId;
  return resultOf(job, nowMs, 'ok', 'live', response);
}

/** A result of a call, whatever its answer. */
export function resultOf(
  job: Job,
  nowMs: number,
  status: 'ok' | 'fallback' | 'cancelled',
  source: Result['source'],
  response: Response | undefined,
): Result {
  const { received, call } = job;
  const result: Result = {
    id: job.id,
    origin: received.origin,
    status,
    source,
    upstream: job.destination.name,
    attempts: job.attempts,
    timing: {
      queuedMs: tenths(Math.max(0, (job.firstAttemptMs ?? nowMs) - received.readAtMs)),
      limitedMs: tenths(job.limitedMs),
      inFlightMs: tenths(job.inFlightMs),
      totalMs: tenths(nowMs - received.readAtMs),
    },
  };
  if (response !== undefined) result.response = response;
  if (call.context !== undefined) result.context = call.context;
  return result;
}

/** A remembered answer as a result carries it. */
export function cachedResponse(answer: CachedAnswer): Response {
  return { ...responseOf(answer), ...(answer.code === undefined ? {} : { code: answer.code }) };
}

/** The bytes of an answer as a result carries them: JSON where it is JSON, else text, else base64. */
export function responseOf({ status, contentType, body }: Answer): Response {
  const response: Response = contentType === undefined ? { status } : { status, contentType };
  if (body.length === 0) return response;
  const text = body.toString('utf8');
  // U+FFFD stands where the bytes were no UTF-8: then the text is not the answer.
  if (text.includes('\ufffd')) {
    response.base64 = body.toString('base64');
    return response;
  }
  response.body = jsonOrText(text);
  return response;
}

/** To a tenth of a millisecond. */
export function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
