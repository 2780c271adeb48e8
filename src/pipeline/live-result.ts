import type { Result } from '../model/result.ts';

import type { Answer, Job, Judged } from './job.ts';

/** The result of a call that its upstream answered. */
export function liveResult({ job, verdict, answer }: Judged, nowMs: number): Result {
  return {
    ...frameOf(job, nowMs),
    status: 'ok',
    source: 'live',
    ...(answer === undefined
      ? {}
      : {
          response: {
            ...responseOf(answer),
            ...(verdict.code === undefined ? {} : { code: verdict.code }),
            ...(verdict.logId === undefined ? {} : { logId: verdict.logId }),
          },
        }),
  };
}

/** What every result of a call holds, whatever its answer. */
export function frameOf(job: Job, nowMs: number) {
  const { received, call } = job;
  return {
    id: job.id,
    origin: received.origin,
    upstream: job.destination.name,
    attempts: job.attempts,
    timing: {
      queuedMs: tenths(Math.max(0, (job.firstAttemptMs ?? nowMs) - received.readAtMs)),
      limitedMs: tenths(job.limitedMs),
      inFlightMs: tenths(job.inFlightMs),
      totalMs: tenths(nowMs - received.readAtMs),
    },
    ...(call.context === undefined ? {} : { context: call.context }),
  };
}

/** The bytes of an answer as a result carries them: JSON where it is JSON, else text, else base64. */
export function responseOf({ status, contentType, body }: Answer): NonNullable<Result['response']> {
  const frame = { status, ...(contentType === undefined ? {} : { contentType }) };
  if (body.length === 0) return frame;
  const text = body.toString('utf8');
  // U+FFFD stands where the bytes were no UTF-8: then the text is not the answer.
  if (text.includes('\ufffd')) return { ...frame, base64: body.toString('base64') };
  try {
    return { ...frame, body: JSON.parse(text) as unknown };
  } catch {
    return { ...frame, body: text };
  }
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
