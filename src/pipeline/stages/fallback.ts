import { map, type OperatorFunction } from 'rxjs';

import type { DeadLetterReason } from '../../model/dead-letter.ts';
import type { Result } from '../../model/result.ts';
import type { CachedAnswer } from '../../ports/answer-cache.ts';
import type { Clock } from '../../ports/clock.ts';
import { answerKey, fallbackOf } from '../has-fallback.ts';
import type { Ended, Ending, Job } from '../job.ts';
import { responseOf, resultOf } from '../live-result.ts';

/** What fallback needs. */
export interface FallbackContext {
  readonly clock: Clock;
}

// Where the upstream gave no answer. A wrong call stays wrong, and an unknown effect must not be painted over.
const answerable: ReadonlySet<DeadLetterReason> = new Set(['attempts_exhausted', 'deadline_passed']);

/**
 * Gives a call without an answer the one that was declared for it, and always says which: the last good answer
 * (`cache`), or a static one (`default`). Remembers good answers where the upstream's owner wants that.
 */
export function fallback({ clock }: FallbackContext): OperatorFunction<Ended, Ended> {
  return map((ended) => {
    const { item, ending } = ended;
    if (item.kind !== 'call') return ended;
    if (ending.kind === 'result') remember(item, ending.result);
    if (ending.kind !== 'dead-letter' || !answerable.has(ending.reason)) return ended;
    const answer = answerFor(item, clock.now());
    return answer === undefined ? ended : { ...ended, ending: answer };
  });
}

function answerFor(job: Job, nowMs: number): Ending | undefined {
  const answer = fallbackOf(job);
  if (answer === undefined) return undefined;
  const response = answer.source === 'cache' ? fromCache(answer.answer) : { status: 200, body: answer.body };
  return { kind: 'result', result: resultOf(job, nowMs, 'fallback', answer.source, response) };
}

function fromCache(answer: CachedAnswer): NonNullable<Result['response']> {
  return { ...responseOf(answer), ...(answer.code === undefined ? {} : { code: answer.code }) };
}

function remember(job: Job, { status, source, response }: Result): void {
  const { answers, fallback: policy } = job.destination;
  if (answers === undefined || policy.cacheTtlMs <= 0 || status !== 'ok' || source !== 'live') return;
  if (response?.body === undefined) return;
  answers.put(
    answerKey(job),
    {
      status: response.status,
      code: response.code,
      contentType: response.contentType,
      body: Buffer.from(JSON.stringify(response.body)),
    },
    policy.cacheTtlMs,
  );
}
