import { expect, it } from 'vitest';

import { send } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// Whether a call may be repeated was asked when its attempt failed, not when the next one started: a wait for an open
// breaker could carry it past the window in which the platform knows its key.
it('F26: a send of unknown outcome that waited for its breaker for over 48 minutes is not sent again', () => {
  const bench = new PipelineBench({
    upstreams: { feishu: { breaker: { coolDownMs: 4_000_000, maxOpenMs: 4_000_000 } } },
  });
  bench.upstream().script = ({ id }) => (id === 'unknown' ? { fail: { how: 'reset', sent: true } } : { status: 500 });
  bench.start();
  bench.call(send('unknown', 'oc_1'), 'a');
  for (let i = 0; i < 30; i++) bench.call(send(`other-${i}`, `oc_${i + 2}`), `b-${i}`);
  bench.run(60_000);
  const before = bench.upstream().of('unknown').length;
  bench.upstream().script = () => ({});
  bench.run(5_000_000);
  expect(bench.upstream().of('unknown')).toHaveLength(before);
  expect(bench.deadLetters.find(({ history }) => history.id === 'unknown')?.reason).toBe('outcome_unknown');
});
