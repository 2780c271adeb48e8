import { expect, it } from 'vitest';

import { react } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// A call that was at its upstream while its partition went away, and failed then, left its lane and was forgotten; its
// claim was prolonged for ever, so the next owner waited as long as this process lived.
it('a call that fails after its partition was lost leaves its claim to the next owner at once', () => {
  const bench = new PipelineBench();
  const [one, two] = [bench.group.member(), bench.group.member()];
  bench.upstream().script = ({ nth }) => (nth === 1 ? { fail: { how: 'refused', sent: false }, afterMs: 5_000 } : {});
  const first = bench.start(one);
  bench.start(two);
  bench.group.give(0, one);
  bench.call(react('c-1'));
  bench.run(1_000);
  bench.group.give(0, two);
  bench.run(3_000);
  expect(bench.upstream().attempts).toHaveLength(1);
  bench.run(4_000);
  expect(first.house.keeper.size).toBe(0);
  expect(bench.results).toMatchObject([{ id: 'c-1', status: 'ok' }]);
  expect(bench.upstream().effects).toEqual(['c-1']);
});
