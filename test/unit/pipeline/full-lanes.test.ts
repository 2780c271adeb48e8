import { NEVER, type Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { delayTopics } from '../../../src/model/delay-topics.ts';
import { explainRecord } from '../../../src/pipeline/explain/explain-record.ts';
import { readRef } from '../../../src/pipeline/explain/find-record.ts';
import { news, read } from '../../support/calls.ts';
import { type BenchOptions, PipelineBench } from '../../support/pipeline-bench.ts';

const perSecond = { limit: 50, windowMs: 1_000 };
const slow = { limit: 5, windowMs: 1_000 };

const startsOf = (bench: PipelineBench, prefix: string, upstream = 'feishu') =>
  bench
    .upstream(upstream)
    .attempts.filter(({ id }) => id.startsWith(prefix))
    .map(({ atMs }) => atMs);

const writesOutside = (bench: PipelineBench) =>
  delayTopics.reduce((sum, topic) => sum + bench.records(topic).length, 0);

const parking = { laneItems: 256, parkFullLanes: true };

/** A bench on which one tenant has far more than its share. */
function flooded(calls: number, { keys = Infinity, ...options }: BenchOptions & { readonly keys?: number } = {}) {
  const bench = new PipelineBench({ upstreams: { feishu: { limits: [slow] } }, house: parking, ...options });
  bench.upstream().script = () => ({ afterMs: 20 });
  for (let n = 0; n < calls; n++) {
    bench.call(read(`a-${n}`, { tenant: 'a' }), Number.isFinite(keys) ? `k-${n % keys}` : null);
  }
  return bench;
}

describe('a tenant with more calls than its share', () => {
  it('A has 100,000 queued, B sends 10 behind it in the same partition: its first is made within 1 s, its tenth within 2 s', () => {
    const bench = new PipelineBench({ upstreams: { feishu: { limits: [perSecond] } }, house: { parkFullLanes: true } });
    bench.upstream().script = () => ({ afterMs: 60 });
    bench.start();
    for (let n = 0; n < 100_000; n++) bench.call(read(`a-${n}`, { tenant: 'a' }));
    for (let n = 0; n < 10; n++) bench.call(read(`b-${n}`, { tenant: 'b' }), 'b');
    bench.run(5_000);
    const [first = Infinity] = startsOf(bench, 'b-');
    expect(first).toBeLessThanOrEqual(1_000);
    expect(startsOf(bench, 'b-')[9]).toBeLessThanOrEqual(2_000);
    // A itself gets all of its rate.
    expect(startsOf(bench, 'a-').length).toBeGreaterThanOrEqual(245);
  });

  it('does not hold up who draws from the same bucket: they take turns', () => {
    const bench = new PipelineBench({
      upstreams: { feishu: {}, news: { limits: [perSecond] } },
      house: { parkFullLanes: true },
    });
    bench.upstream('news').script = () => ({ afterMs: 60 });
    bench.start();
    for (let n = 0; n < 20_000; n++) bench.call(news(`a-${n}`, { tenant: 'a' }), `k-${n % 5_000}`);
    bench.run(5_000);
    for (let n = 0; n < 10; n++) bench.call(news(`b-${n}`, { tenant: 'b' }), `b-${n}`);
    bench.run(3_000);
    const starts = startsOf(bench, 'b-', 'news').map((atMs) => atMs - 5_000);
    expect(starts[0]).toBeLessThanOrEqual(1_000);
    expect(starts[9]).toBeLessThanOrEqual(2_000);
  });

  it('does not hold up its own interactive calls', () => {
    const bench = new PipelineBench({ upstreams: { feishu: { limits: [perSecond] } }, house: { parkFullLanes: true } });
    bench.start();
    for (let n = 0; n < 10_000; n++) bench.call(read(`a-${n}`, { tenant: 'a', priority: 'bulk' }));
    bench.call(read('now', { tenant: 'a', priority: 'interactive' }));
    bench.run(1_000);
    expect(startsOf(bench, 'now')).toHaveLength(1);
  });

  it('makes each call once and in the order of its key over kills, in little more time than its rate asks for', () => {
    const calls = 3_000;
    const bench = flooded(calls, { keys: 40 });
    let worker = bench.start();
    for (const ms of [7_000, 3_500, 61_000, 130_000]) {
      bench.run(ms);
      worker.crash();
      worker = bench.start();
    }
    bench.run(700_000);
    const starts = startsOf(bench, 'a-');
    expect(starts).toHaveLength(calls);
    // Five in each 1,060 ms, and a killed worker's claims are looked at again when their lease is over.
    expect(starts.at(-1)).toBeLessThan(calls * 213 * 1.15 + 4 * 32_000);
    expect(writesOutside(bench) / calls).toBeLessThan(12);
    const byKey = new Map<number, number[]>();
    for (const { id } of bench.upstream().attempts) {
      const n = Number(id.slice(2));
      byKey.set(n % 40, [...(byKey.get(n % 40) ?? []), n]);
    }
    for (const order of byKey.values()) expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(new Set(bench.results.map(({ id }) => id)).size).toBe(calls);
    expect(bench.deadLetters).toEqual([]);
    expect(bench.lag).toBe(0);
    expect(worker.house.overflow.stats()).toEqual({ here: 0, full: 0, outside: 0 });
  });

  it('is written to delay topics a few times per call, the longer its backlog the longer each time', () => {
    const calls = 3_000;
    const bench = flooded(calls);
    bench.start();
    bench.run(650_000);
    expect(bench.results).toHaveLength(calls);
    // Five in each 1,060 ms.
    expect(startsOf(bench, 'a-').at(-1)).toBeLessThan(calls * 213);
    const writes = delayTopics.map((topic) => bench.records(topic).length);
    expect(writes[0]).toBeGreaterThan(0);
    expect(writes[1]).toBeGreaterThan(0);
    expect(writesOutside(bench) / calls).toBeLessThan(8);
  });

  it('whose upstream is paused for an hour is written to delay topics ever more seldom, and ends soon after that', () => {
    const calls = 2_000;
    const bench = flooded(calls);
    const { house } = bench.start();
    bench.run(20_000);
    house.pauses.pause('feishu', 'somebody');
    bench.run(3_600_000);
    expect(writesOutside(bench) / calls).toBeLessThan(25);
    house.pauses.resume('feishu');
    bench.run(calls * 213 + 600_000);
    expect(bench.results).toHaveLength(calls);
  });

  it('whose calls would pass their deadline outside keeps them, and they end when no attempt fits any more', () => {
    const bench = flooded(0);
    bench.start();
    for (let n = 0; n < 300; n++) bench.call(read(`a-${n}`, { tenant: 'a', ttlMs: 9_000 }));
    bench.run(12_000);
    expect(writesOutside(bench)).toBe(0);
    expect(bench.results.length + bench.deadLetters.length).toBe(300);
    expect(new Set(bench.deadLetters.map(({ reason }) => reason))).toEqual(new Set(['deadline_passed']));
  });

  it('waits in its partition where that is wanted', () => {
    const bench = flooded(600, { house: { ...parking, parkFullLanes: false } });
    bench.start();
    bench.run(150_000);
    expect(writesOutside(bench)).toBe(0);
    expect(bench.results).toHaveLength(600);
  });

  it('keeps the order of a key whose record does not fit a delay topic: it goes into its lane after all', () => {
    const bench = flooded(0, { delayBytes: 2_000 });
    bench.start();
    const large = { query: { container_id: 'x'.repeat(3_000) } };
    for (let n = 0; n < 400; n++)
      bench.call(read(`a-${n}`, { tenant: 'a', ...(n % 3 > 0 ? {} : large) }), `k-${n % 9}`);
    bench.run(120_000);
    expect(bench.results).toHaveLength(400);
    const order = bench.upstream().attempts.map(({ id }) => Number(id.slice(2)));
    for (let key = 0; key < 9; key++) {
      const own = order.filter((n) => n % 9 === key);
      expect(own).toEqual([...own].sort((a, b) => a - b));
    }
    expect(bench.log.text).toContain('does not fit its delay topic');
  });

  it('with keys stays here while the register of those outside is away, in order', () => {
    const bench = flooded(0);
    const { parked } = bench.store;
    const ready = parked.ready.bind(parked);
    let away = true;
    parked.ready = () => !away && ready();
    const open$ = parked.open.bind(parked);
    parked.open = (name): Observable<never> | ReturnType<typeof open$> => (away ? NEVER : open$(name));
    bench.start();
    for (let n = 0; n < 400; n++) bench.call(read(`a-${n}`, { tenant: 'a' }), `k-${n % 9}`);
    bench.run(5_000);
    expect(writesOutside(bench)).toBe(0);
    away = false;
    bench.run(120_000);
    expect(bench.results).toHaveLength(400);
  });

  it('while its delay topic takes nothing takes a quarter of the turns at most, and the others go on', () => {
    const bench = flooded(150, { house: { ...parking, maxInTurn: 16 } });
    const append$ = bench.sink.append.bind(bench.sink);
    bench.sink.append = (record) => (record.topic.startsWith('retry.') ? NEVER : append$(record));
    bench.start();
    bench.call(read('b', { tenant: 'b' }));
    bench.run(1_000);
    expect(bench.results.filter(({ id }) => id === 'b')).toHaveLength(1);
  });

  it('while its delay topic takes nothing fills three fifths of the lanes at most, and all else goes on', () => {
    const bench = flooded(600);
    const append$ = bench.sink.append.bind(bench.sink);
    bench.sink.append = (record) => (record.topic.startsWith('retry.') ? NEVER : append$(record));
    bench.start();
    bench.call(read('b', { tenant: 'b' }));
    bench.run(150_000);
    expect(bench.results.filter(({ id }) => id === 'b')).toHaveLength(1);
    expect(bench.results).toHaveLength(601 - Math.ceil(256 * 0.6));
  });

  it.each(['results', 'retry.1h'])('waits in its lane while writes to %s are held', (held) => {
    const bench = flooded(600);
    bench.sink.trouble = (topic) => (topic === held ? { why: 'its partition has no leader' } : undefined);
    bench.start();
    bench.run(150_000);
    expect(writesOutside(bench)).toBe(0);
    expect(bench.results).toHaveLength(600);
  });

  it('is told by explain, with how many of its own are before it, and counted', () => {
    const bench = flooded(600);
    const { house } = bench.start();
    bench.run(9_000);
    expect(house.overflow.stats()).toMatchObject({ full: 1 });
    expect(house.overflow.stats().outside).toBeGreaterThan(300);
    const told = explainRecord(house, readRef('a-90'), 'a-90');
    expect(told?.where).toBe('buffer');
    expect(told?.waits[0]).toMatchObject({ what: 'full-lane', until: expect.any(String) as string });
    expect(told?.waits[0]?.why).toMatch(/^a has \d+ calls of this API before it/);
  });
});
