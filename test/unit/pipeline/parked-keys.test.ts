import { mergeMap } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { news, read } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

/** Refuses one call until then, for so many seconds; everybody else may go. */
const refused =
  (id: string, untilMs: number, seconds: number) => (attempt: { readonly id: string; readonly atMs: number }) =>
    attempt.id === id && attempt.atMs < untilMs ? { status: 503, headers: { 'retry-after': String(seconds) } } : {};

function parking(options: ConstructorParameters<typeof PipelineBench>[0] = {}) {
  const bench = new PipelineBench(options);
  bench.upstream('news').script = refused('a-1', 30_000, 31);
  return bench;
}

const attemptsOf = (bench: PipelineBench) => bench.upstream('news').attempts.map(({ id }) => id);

const idsDone = (bench: PipelineBench) => bench.results.map(({ id }) => id);

describe('a key whose call waits outside', () => {
  it('has its later calls line up behind, in order, while other keys go on', () => {
    const bench = parking();
    const { house } = bench.start();
    bench.call(news('a-1'), 'a');
    bench.run(1_000);
    for (let n = 2; n <= 5; n++) bench.call(news(`a-${n}`), 'a');
    bench.call(news('b-1'), 'b');
    bench.call(news('free'));
    bench.run(1_000);
    expect(idsDone(bench).sort()).toEqual(['b-1', 'free']);
    expect(house.lines.keys).toBe(1);
    expect(bench.store.lag('workers', ['calls'])).toMatchObject([{ lag: 0 }]);
    bench.run(60_000);
    expect(idsDone(bench).filter((id) => id.startsWith('a'))).toEqual(['a-1', 'a-2', 'a-3', 'a-4', 'a-5']);
    expect(house.lines.keys).toBe(0);
    expect(bench.upstream('news').attempts.filter(({ id }) => id === 'a-2')).toHaveLength(1);
  });

  it('goes on as before when its last call has come back', () => {
    const bench = parking();
    bench.start();
    bench.call(news('a-1'), 'a');
    bench.run(60_000);
    const before = bench.records('retry.10s').length;
    bench.call(news('a-2'), 'a');
    bench.run(100);
    expect(idsDone(bench)).toEqual(['a-1', 'a-2']);
    expect(bench.records('retry.10s')).toHaveLength(before);
  });

  it('is held on when its call comes back and has to wait again', () => {
    const bench = parking();
    bench.upstream('news').script = refused('a-1', 100_000, 31);
    bench.start();
    bench.call(news('a-1'), 'a');
    bench.run(100);
    bench.call(news('a-2'), 'a');
    bench.run(90_000);
    expect(idsDone(bench)).toEqual([]);
    bench.run(60_000);
    expect(idsDone(bench)).toEqual(['a-1', 'a-2']);
  });

  it('keeps its order over a restart in every second of the wait, and acts once', () => {
    for (let atMs = 1_000; atMs <= 36_000; atMs += 1_250) {
      const bench = parking();
      const first = bench.start();
      bench.call(news('a-1'), 'a');
      bench.call(news('a-2'), 'a');
      bench.run(500);
      bench.call(news('a-3'), 'a');
      bench.run(atMs - 500);
      first.crash();
      bench.call(news('a-4'), 'a');
      bench.start();
      bench.run(120_000);
      // What had ended and was not committed ends once more, as it did before.
      expect([...new Set(idsDone(bench))], `killed after ${atMs} ms`).toEqual(['a-1', 'a-2', 'a-3', 'a-4']);
      expect(attemptsOf(bench), `killed after ${atMs} ms`).toEqual(['a-1', 'a-1', 'a-2', 'a-3', 'a-4']);
    }
  });

  it('keeps its order when its partition moves to a worker that has never heard of it, and back', () => {
    const bench = parking();
    const [one, two] = [bench.group.member(), bench.group.member()];
    bench.start(one);
    bench.start(two);
    bench.group.give(0, one);
    bench.call(news('a-1'), 'a');
    bench.run(2_000);
    bench.group.give(0, two);
    bench.call(news('a-2'), 'a');
    bench.run(5_000);
    bench.group.give(0, one);
    bench.call(news('a-3'), 'a');
    bench.run(120_000);
    expect(idsDone(bench)).toEqual(['a-1', 'a-2', 'a-3']);
    expect(attemptsOf(bench)).toEqual(['a-1', 'a-1', 'a-2', 'a-3']);
  });

  it('ends a call that would stand in line past its deadline, and keeps the others in order', () => {
    const bench = parking();
    bench.start();
    bench.call(news('a-1'), 'a');
    bench.run(500);
    bench.call(news('a-2', { ttlMs: 5_000 }), 'a');
    bench.call(news('a-3'), 'a');
    bench.run(500);
    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed', attempts: 0 }]);
    bench.run(60_000);
    expect(idsDone(bench)).toEqual(['a-1', 'a-3']);
  });

  it('lets a key go on whose call did not come back for a day: somebody emptied its delay topic', () => {
    const bench = parking();
    bench.start();
    const lost = { key: 'a', offset: -1, dueMs: bench.time.wall() };
    bench.store.parked
      .open('bench/calls/0')
      .pipe(mergeMap(({ fence }) => bench.store.parked.put({ partition: 'bench/calls/0', fence }, lost)))
      .subscribe({ error: (error: unknown) => expect.fail(String(error)) });
    bench.upstream('news').script = () => ({});
    bench.call(news('a-2', { ttlMs: 10 * 86_400_000 }), 'a');
    bench.run(20 * 3_600_000);
    expect(idsDone(bench)).toEqual([]);
    bench.run(40 * 3_600_000);
    expect(idsDone(bench)).toEqual(['a-2']);
  });
});

describe('a call that is not outside', () => {
  it('asks the register nothing but once for its partition', () => {
    const bench = new PipelineBench();
    const asked: string[] = [];
    const { parked } = bench.store;
    for (const method of ['open', 'put', 'remove'] as const) {
      const real = parked[method].bind(parked) as (...args: unknown[]) => never;
      Object.assign(parked, { [method]: (...args: unknown[]) => (asked.push(method), real(...args)) });
    }
    bench.start();
    for (let n = 0; n < 100; n++) bench.call(read(`r-${n}`), `k-${n % 7}`);
    bench.run(60_000);
    expect(bench.results).toHaveLength(100);
    expect(asked).toEqual(['open']);
  });
});
