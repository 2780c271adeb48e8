import { map, Observable, type OperatorFunction } from 'rxjs';

import { andThen } from '../../operators/interop/and-then.ts';
import { eachOf } from '../../operators/lanes/each-of.ts';
import type { CachedAnswer } from '../../ports/answer-cache.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Batches } from '../batches.ts';
import { isCancelled } from '../endings.ts';
import { answerKey, freshAnswer, maySaveCall } from '../has-fallback.ts';
import type { Instruments } from '../instruments.ts';
import type { Claimed, Ended, Job } from '../job.ts';
import { cachedResponse, resultOf } from '../live-result.ts';

/** What recall needs. */
export interface RecallContext {
  readonly batches: Batches;
  readonly clock: Clock;
  readonly instruments: Instruments;
}

/**
 * Answers a read without asking its upstream where somebody asked the same not long ago: this process, else another one
 * through the store that they share. Of those that ask the same at the same time one goes on; the others wait at the door for
 * what becomes of it, and go on themselves where it brought no good answer.
 */
export function recall(context: RecallContext): OperatorFunction<Claimed | Ended, Claimed | Ended> {
  const asking = new Map<string, Set<() => void>>();
  return eachOf((work): Observable<Claimed | Ended> | Claimed | Ended => {
    if (work.kind === 'ended' || !maySaveCall(work.job) || isCancelled(work.job)) return work;
    return fromMemory(work, 'memory', context) ?? fromOthers(work, asking, context);
  });
}

type Tier = 'memory' | 'shared';

function fromMemory(work: Claimed, tier: Tier, { clock, instruments }: RecallContext): Ended | undefined {
  const { job, turn } = work;
  const answer = freshAnswer(job, clock.wall());
  if (answer === undefined) return undefined;
  instruments.read(job, tier);
  return { kind: 'ended', item: job, turn, ending: { kind: 'result', result: recalled(job, answer, clock) } };
}

function recalled(job: Job, answer: CachedAnswer, clock: Clock) {
  const result = resultOf(job, clock.now(), 'ok', 'cache', cachedResponse(answer));
  return { ...result, ageMs: Math.max(0, clock.wall() - answer.storedAtMs) };
}

function fromOthers(
  work: Claimed,
  asking: Map<string, Set<() => void>>,
  context: RecallContext,
): Observable<Claimed | Ended> | Claimed {
  const { job } = work;
  const { answers, name } = job.destination;
  const key = `${name} ${answerKey(job)}`;
  const waiting = asking.get(key);
  if (waiting !== undefined) {
    context.batches.goesAlone(job);
    return after(waiting).pipe(map(() => afterWait(work, 'memory', context)));
  }
  const others = new Set<() => void>();
  asking.set(key, others);
  job.door.left = () => {
    asking.delete(key);
    for (const goOn of others) goOn();
  };
  if (!answers.mayKnow(answerKey(job))) return live(work, context);
  return andThen(answers.lookUp(answerKey(job)), () => afterWait(work, 'shared', context));
}

/** Who was cancelled meanwhile wants neither answer nor question. */
function afterWait(work: Claimed, tier: Tier, context: RecallContext): Claimed | Ended {
  if (isCancelled(work.job)) return work;
  return fromMemory(work, tier, context) ?? live(work, context);
}

function live(work: Claimed, { instruments }: RecallContext): Claimed {
  instruments.read(work.job, 'live');
  return work;
}

/** Emits once somebody calls what this leaves in the set. */
function after(waiting: Set<() => void>): Observable<void> {
  return new Observable((subscriber) => {
    const goOn = (): void => {
      subscriber.next();
      subscriber.complete();
    };
    waiting.add(goOn);
    return () => void waiting.delete(goOn);
  });
}
