import { firstValueFrom } from 'rxjs';
import { expect, it } from 'vitest';

import { react } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// Redis came back empty while a call was at its upstream: its answer was refused, because nobody knew the claim any more,
// and the call was made once more, although its own worker had the answer in its hands.
it('a call whose claim is forgotten while it is in flight ends with the answer it got, and is not made again', async () => {
  const bench = new PipelineBench();
  bench.upstream().script = () => ({ afterMs: 5_000 });
  const worker = bench.start();
  bench.call(react('c-1'));
  bench.run(1_000);
  // As good as never written: over at once, and past its time to live a millisecond later.
  const gone = { claim: { id: 'c-1', fence: 1 }, state: 'FAILED', result: '', delayMs: 0, ttlMs: 1 } as const;
  const forgotten = firstValueFrom(bench.store.claims.finish(gone));
  bench.run(1_000);
  expect(await forgotten).toBe(true);
  bench.run(10_000);
  expect(worker.error).toBeUndefined();
  expect(bench.results).toMatchObject([{ id: 'c-1', status: 'ok' }]);
  expect(bench.upstream().effects).toEqual(['c-1']);
  expect(bench.upstream().attempts).toHaveLength(1);
});
