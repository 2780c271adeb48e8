import { type Fallback, fallbackFor } from '../operators/fallback/fallback-for.ts';

import type { Job } from './job.ts';

/** The answer that would stand in for a live one now: what the call or its upstream declared, or what is remembered. */
export function fallbackOf(job: Job): Fallback | undefined {
  const { call, destination } = job;
  return fallbackFor(call.fallback, destination.fallback, destination.answers?.get(answerKey(job)));
}

/** Whether a call has an answer to give when its upstream has none. A cache that remembers nothing yet gives none. */
export function hasFallback(job: Job): boolean {
  return fallbackOf(job) !== undefined;
}

/** Same question, same answer: method, path with query, who asks, and the body. */
export function answerKey({ call, plan: { request } }: Job): string {
  const asker = JSON.stringify([call.app ?? null, call.tenant ?? null, call.as ?? null]);
  return `${asker} ${request.method} ${request.path} ${call.body === undefined ? '' : JSON.stringify(call.body)}`;
}
