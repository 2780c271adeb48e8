import { expect, it } from 'vitest';

import { news, react } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

const other = { state: 'FAILED', result: '', delayMs: 0, ttlMs: 1e9 } as const;

// The store lost a claim (a failover, a restart without its file) while its call was made. The worker could not finish it,
// got a new claim, and made the call again although it had the answer in hand.
it('a call whose claim the store forgot ends with the answer that came, and is not made again', () => {
  const bench = new PipelineBench();
  bench.upstream().script = ({ nth }) => ({ afterMs: 3_000, body: { code: 0, nth } });
  bench.start();
  bench.call(react('r'));
  bench.run(1_000);
  bench.store.claims.finish({ claim: { id: 'r', fence: 1 }, ...other }).subscribe();
  bench.run(20_000);
  expect(bench.upstream().of('r')).toHaveLength(1);
  expect(bench.results).toMatchObject([{ id: 'r', status: 'ok', response: { body: { nth: 1 } } }]);
  expect(bench.lag).toBe(0);
});

// A store that restarted empty counts fences from 1 again, so the result of one owner was taken for the claim of another,
// under that one's origin. Its record then repeated the other's result and had none of its own.
it("a record that finds another record's result under its own claim answers as a duplicate", () => {
  const bench = new PipelineBench();
  bench.upstream('news').script = () => ({ afterMs: 3_000 });
  bench.start();
  bench.call(news('n'));
  bench.run(1_000);
  const result = JSON.stringify({ id: 'n', origin: 'other', status: 'ok', source: 'live', response: { status: 201 } });
  bench.store.claims.finish({ claim: { id: 'n', fence: 1 }, ...other, state: 'PROCESSED', result }).subscribe();
  bench.run(20_000);
  expect(bench.results).toMatchObject([{ id: 'n', status: 'duplicate', response: { status: 201 } }]);
  expect(bench.results[0]?.origin).toMatch(/^bench\/calls\/0\/0\//);
});
