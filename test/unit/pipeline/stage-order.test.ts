import { NEVER, type Observable } from 'rxjs';
import { describe, expect, expectTypeOf, it } from 'vitest';

import type { dispatchPipeline } from '../../../src/pipeline/dispatch-pipeline.ts';
import type { House } from '../../../src/pipeline/house.ts';
import type { Settled } from '../../../src/pipeline/job.ts';
import { admit } from '../../../src/pipeline/stages/admit.ts';
import { attempt } from '../../../src/pipeline/stages/attempt.ts';
import { claim } from '../../../src/pipeline/stages/claim.ts';
import { classify } from '../../../src/pipeline/stages/classify.ts';
import { commit } from '../../../src/pipeline/stages/commit.ts';
import { decode } from '../../../src/pipeline/stages/decode.ts';
import { fallback } from '../../../src/pipeline/stages/fallback.ts';
import { retry } from '../../../src/pipeline/stages/retry.ts';
import { schedule } from '../../../src/pipeline/stages/schedule.ts';
import { settle } from '../../../src/pipeline/stages/settle.ts';
import type { SourceEvent } from '../../../src/ports/record-source.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const event$: Observable<SourceEvent> = NEVER;

/** Each line swaps, doubles or leaves out one stage; a line that compiles fails the type check (unused directive). */
export function wrongOrders(house: House): unknown[] {
  const turn$ = event$.pipe(decode(house), admit(house), schedule(house));
  return [
    // @ts-expect-error -- admit before decode
    event$.pipe(admit(house), decode(house)),
    // @ts-expect-error -- schedule without admit: no backpressure
    event$.pipe(decode(house), schedule(house)),
    // @ts-expect-error -- attempt before the claim: something would be done twice
    turn$.pipe(attempt(house), claim(house)),
    // @ts-expect-error -- retry before classify: unjudged
    turn$.pipe(claim(house), attempt(house), retry(house)),
    // @ts-expect-error -- fallback before retry: an answer that is not live instead of a second attempt
    turn$.pipe(claim(house), attempt(house), classify(house), fallback(house), retry(house)),
    // @ts-expect-error -- settle before retry: a failed attempt written down as the end
    turn$.pipe(claim(house), attempt(house), classify(house), settle(house)),
    // @ts-expect-error -- commit before settle: progress past what is not durable
    turn$.pipe(claim(house), attempt(house), classify(house), retry(house), fallback(house), commit(house)),
    // @ts-expect-error -- two attempts on one claim
    turn$.pipe(claim(house), attempt(house), attempt(house)),
  ];
}

describe('the order of the stages', () => {
  it('S000-62: the one pipe compiles, a wrong order does not', () => {
    expectTypeOf<ReturnType<ReturnType<typeof dispatchPipeline>>>().toEqualTypeOf<Observable<Settled>>();
    // What runs here proves that the lines above are real pipes; that they do not compile is the type check's to say.
    expect(wrongOrders(new PipelineBench().createHouse())).toHaveLength(8);
  });
});
