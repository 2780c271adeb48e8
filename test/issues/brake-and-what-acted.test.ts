import { expect, it } from 'vitest';

import { react } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// Without credit the brake sends a record round again. An answer that was too large to take in means that the call took
// effect: going round again would do it twice.
it('a call whose answer was too large is not made again when the brake has no credit', () => {
  const bench = new PipelineBench();
  bench.upstream().script = ({ id }) =>
    id.startsWith('big') ? { fail: { how: 'response-too-large', sent: true }, acts: true } : { status: 403, body: {} };
  bench.start();
  for (let i = 0; i < 60; i++) bench.call(react(`no-${i}`), `a-${i}`);
  bench.run(30_000);
  bench.call(react('big-1'), 'b');
  bench.run(60_000);
  expect(bench.upstream().effects).toEqual(['big-1']);
  expect(bench.upstream().of('big-1')).toHaveLength(1);
  expect(bench.deadLetters.find(({ history }) => history.id === 'big-1')?.reason).toBe('response_too_large');
});
