import { expect, it } from 'vitest';

import { react } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// The store ends a claim whose owners keep dying, with nothing to repeat. Reading that as JSON threw and stopped the
// worker, at the same record after every restart.
it('a call with which nine workers died ends as a dead letter, and the worker goes on', () => {
  const bench = new PipelineBench();
  bench.upstream().script = ({ id }) => (id === 'killer' ? { hang: true } : {});
  bench.call(react('killer'), 'a');
  let worker = bench.start();
  for (let death = 0; death < 9; death++) {
    // It dies before the bytes left, so each next owner may try.
    worker.house.destinations.get('feishu')?.slots.acquire().subscribe();
    bench.run(1_000);
    worker.crash();
    bench.run(31_000);
    worker = bench.start();
  }
  bench.call(react('good'), 'b');
  bench.run(60_000);
  expect(worker.error).toBeUndefined();
  expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown' }]);
  expect(bench.results).toMatchObject([{ id: 'good' }]);
});

it('a dead claim without anything remembered ends as a dead letter that says so', () => {
  const bench = new PipelineBench();
  bench.store.claims.claim({ id: 'killer', origin: 'x', leaseMs: 1, ttlMs: 1e9, sent: false }).subscribe();
  for (let takeover = 0; takeover < 8; takeover++) {
    bench.run(10);
    bench.store.claims.claim({ id: 'killer', origin: 'x', leaseMs: 1, ttlMs: 1e9, sent: false }).subscribe();
  }
  bench.run(10);
  const worker = bench.start();
  bench.call(react('killer'));
  bench.run(1_000);
  expect(worker.error).toBeUndefined();
  expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown', class: 'ambiguous' }]);
  expect(bench.deadLetters[0]?.history.message).toMatch(/workers/);
  expect(bench.lag).toBe(0);
});
