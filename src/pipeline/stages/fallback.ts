import { isObservable, type Observable, type OperatorFunction } from 'rxjs';

import type { DeadLetterReason } from '../../model/dead-letter.ts';
import type { Result } from '../../model/result.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import { eachOf } from '../../operators/lanes/each-of.ts';
import type { Clock } from '../../ports/clock.ts';
import { answerKey, fallbackOf, hasFallback, rememberMs } from '../has-fallback.ts';
import type { Ended, Ending, Job } from '../job.ts';
import { cachedResponse, resultOf } from '../live-result.ts';
import type { WatchShapes } from '../watch-shapes.ts';

/** What fallback needs. */
export interface FallbackContext {
  readonly clock: Clock;
  readonly watchShapes: WatchShapes;
}

// Where the upstream gave no answer. A wrong call stays wrong, and an unknown effect must not be painted over.
const answerable: ReadonlySet<DeadLetterReason> = new Set(['attempts_exhausted', 'deadline_passed']);

/**
 * Gives a call without an answer the one that was declared for it, and always says which: the last good answer
 * (`cache`), or a static one (`default`), and why. Remembers good answers where the upstream's owner or the call wants that.
 */
export function fallback({ clock, watchShapes }: FallbackContext): OperatorFunction<Ended, Ended> {
  return eachOf((ended): Observable<Ended> | Ended => {
    const { item, ending } = ended;
    if (item.kind !== 'call') return ended;
    if (ending.kind === 'result') {
      remember(item, ending.result, clock);
      watchShapes(item, ending.result);
    }
    if (ending.kind !== 'dead-letter' || !answerable.has(ending.reason)) return ended;
    const has$ = hasFallback(item);
    if (has$ === false) return ended;
    const stoodIn = (): Ended => ({ ...ended, ending: answerFor(item, ending, clock) });
    return isObservable(has$) ? andThen(has$, (found) => (found ? stoodIn() : ended)) : stoodIn();
  });
}

type NoAnswer = Extract<Ending, { readonly kind: 'dead-letter' }>;

function answerFor(job: Job, ending: NoAnswer, clock: Clock): Ending {
  const answer = fallbackOf(job);
  if (answer === undefined) return ending;
  const response = answer.source === 'cache' ? cachedResponse(answer.answer) : { status: 200, body: answer.body };
  const result = resultOf(job, clock.now(), 'fallback', answer.source, response);
  const because = ending.breakerOpen === true ? 'breaker_open' : ending.reason;
  const age = answer.source === 'cache' ? { ageMs: Math.max(0, clock.wall() - answer.answer.storedAtMs) } : {};
  return { kind: 'result', result: { ...result, fallback: { because, message: ending.message, ...age } } };
}

function remember(job: Job, { status, source, response }: Result, clock: Clock): void {
  const ttlMs = rememberMs(job);
  if (ttlMs <= 0 || status !== 'ok' || source !== 'live' || response?.body === undefined) return;
  job.destination.answers.put(
    answerKey(job),
    {
      status: response.status,
      code: response.code,
      contentType: response.contentType,
      body: Buffer.from(JSON.stringify(response.body)),
      storedAtMs: clock.wall(),
    },
    ttlMs,
  );
}
