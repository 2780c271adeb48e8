import { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { react } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('a call that is written down as waiting', () => {
  it('has its record written also when its partition goes meanwhile: its key would wait for ever', () => {
    const bench = new PipelineBench();
    const { parked } = bench.store;
    const put$ = parked.put.bind(parked);
    parked.put = (scope, call) =>
      new Observable((subscriber) => void bench.time.after(50, () => put$(scope, call).subscribe(subscriber)));
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 429, headers: { 'retry-after': '30' } } : {});
    const [first, second] = [bench.group.member(), bench.group.member()];
    bench.start(first);
    bench.start(second);
    bench.group.give(0, first);
    bench.call(react('a'), 'k');
    bench.call(react('b'), 'k');
    bench.run(20);
    expect(bench.upstream().attempts).toHaveLength(1);
    bench.group.give(0, undefined);
    bench.run(100);
    expect(bench.records('retry.1m').length + bench.records('retry.10s').length).toBe(1);
    bench.group.give(0, second);
    bench.run(120_000);
    // Both records of a say the same: whoever comes second brings the result of the first.
    expect([...new Set(bench.results.map(({ id, status, origin }) => `${id} ${status} ${origin}`))]).toHaveLength(2);
    expect(bench.group.committed.get(0)?.offset).toBe(2);
    expect(bench.upstream().effects).toEqual(['a', 'b']);
  });
});
