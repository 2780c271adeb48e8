import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { House } from '../../../src/pipeline/house.ts';
import { news, react, read, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import type { Reply } from '../../support/scripted-upstream.ts';
import { seededRandom } from '../../support/virtual-time.ts';

/** Everything that a call may hold, by what holds it; all of it is 0 when nothing is under way. */
function held(house: House, nowMs: number): Record<string, number> {
  const sum: Record<string, number> = {
    turns: house.lanes.inTurn,
    queued: house.lanes.size,
    claims: house.keeper.size,
  };
  for (const { name, slots, working, limiter, breakers } of house.destinations.values()) {
    sum[`${name} slots`] = slots.inUse;
    sum[`${name} waiting`] = slots.waiting;
    sum[`${name} door`] = working.inUse;
    sum[`${name} promised`] = limiter.snapshot(nowMs).promised;
    // A permit that was lost shows as an expired lease of a probe.
    for (const [, breaker] of breakers?.entries() ?? []) sum[`${name} lost`] = breaker.snapshot(nowMs).leaseExpiries;
  }
  return Object.fromEntries(Object.entries(sum).filter(([, count]) => count !== 0));
}

describe('bounds', () => {
  it('starts 100 calls of a bucket with 50 a second spread over two seconds, never more in any second', () => {
    const bench = new PipelineBench({ upstreams: { feishu: { bucketConcurrency: 64 } } });
    bench.upstream().script = () => ({ afterMs: 30 });
    bench.start();
    for (let i = 0; i < 100; i++) bench.call(read(`r-${i}`));
    bench.run(5_000);
    const starts = bench.upstream().attempts.map(({ atMs }) => atMs);
    expect(starts).toHaveLength(100);
    for (const from of starts) {
      expect(starts.filter((atMs) => atMs >= from && atMs < from + 1_000).length).toBeLessThanOrEqual(50);
    }
    expect(Math.max(...starts)).toBeLessThan(2_100);
  });

  it('makes one call at a time at a resource that takes one', () => {
    const bench = new PipelineBench();
    let atTable = 0;
    let most = 0;
    bench.upstream().script = () => {
      most = Math.max(most, ++atTable);
      bench.time.after(99, () => atTable--);
      return { afterMs: 100 };
    };
    bench.start();
    const path = '/open-apis/bitable/v1/apps/b1/tables/t1/records';
    for (let i = 0; i < 10; i++) bench.call({ id: `t-${i}`, path, body: { fields: {} } }, `k-${i}`);
    bench.run(10_000);
    expect(bench.results).toHaveLength(10);
    expect(most).toBe(1);
  });

  it('never has more attempts at an upstream than its concurrency, nor than the process has slots', () => {
    const bench = new PipelineBench({
      upstreams: { news: { concurrency: 5 }, stock: { concurrency: 20 } },
      processSlots: 12,
    });
    for (const name of ['news', 'stock']) bench.upstream(name).script = () => ({ afterMs: 40 });
    let most = 0;
    bench.start();
    for (let i = 0; i < 200; i++) {
      bench.call(news(`n-${i}`));
      bench.call(news(`s-${i}`, { upstream: 'stock' }));
    }
    for (let step = 0; step < 800; step++) {
      bench.run(5);
      most = Math.max(most, bench.upstream('news').inFlight + bench.upstream('stock').inFlight);
    }
    expect(bench.results).toHaveLength(400);
    expect(bench.upstream('news').mostInFlight).toBe(5);
    expect(most).toBe(12);
  });
});

type Fate = readonly [what: 'ok' | '503' | '429' | '400' | 'stale' | 'reset' | 'refused' | 'hang', afterMs: number];

const replyTo = ([what, afterMs]: Fate): Reply => {
  switch (what) {
    case 'ok':
      return { afterMs };
    case '503':
      return { status: 503, afterMs };
    case '429':
      return { status: 429, headers: { 'retry-after': '1' }, afterMs };
    case '400':
      return { status: 400, body: { code: 230001 }, afterMs };
    case 'stale':
      return { status: 400, body: { code: 99991663 }, afterMs };
    case 'reset':
      return { fail: { how: 'reset', sent: true }, acts: afterMs % 2 === 0, afterMs };
    case 'refused':
      return { fail: { how: 'refused', sent: false }, afterMs };
    case 'hang':
      return { hang: true, acts: afterMs % 2 === 0 };
  }
};

const fate: fc.Arbitrary<Fate> = fc.tuple(
  fc.constantFrom('ok', 'ok', 'ok', '503', '429', '400', 'stale', 'reset', 'refused', 'hang'),
  fc.integer({ min: 0, max: 2_000 }),
);
const makers = [send, read, react, news] as const;
const asked = fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 6 }), fc.option(fc.integer({ min: 1, max: 20_000 })));
const disturbance = fc.tuple(fc.constantFrom('move', 'hold', 'release', 'pass'), fc.integer({ min: 1, max: 9_000 }));

describe('invariant 30', () => {
  it('slots, permits, grants, turns and claims are 0 when idle, whatever success, failure, abort, time-out and loss came before', () => {
    const world = fc.record({
      seed: fc.nat(),
      fates: fc.array(fate, { minLength: 40, maxLength: 80, size: 'max' }),
      calls: fc.array(asked, { minLength: 10, maxLength: 40, size: 'max' }),
      disturbances: fc.array(disturbance, { minLength: 2, maxLength: 10, size: 'max' }),
    });
    fc.assert(
      fc.property(world, ({ seed, fates, calls, disturbances }) => {
        const settings = { concurrency: 2, attemptMs: 3_000, retry: { maxAttempts: 5 } };
        const bench = new PipelineBench({
          upstreams: { feishu: settings, news: settings },
          processSlots: 3,
          random: seededRandom(seed),
        });
        let turn = 0;
        const script = () => replyTo(fates[turn++ % fates.length] ?? ['ok', 0]);
        for (const name of ['feishu', 'news']) bench.upstream(name).script = script;
        const members = [bench.group.member(), bench.group.member()];
        const workers = members.map((member) => bench.start(member));
        bench.group.give(0, members[0]);
        for (const [index, [maker, key, ttlMs]] of calls.entries()) {
          const call = (makers[maker] ?? read)(`c-${index}`);
          bench.call({ ...call, ...(ttlMs === null ? {} : { ttlMs }) }, key === 0 ? null : `k-${key}`);
        }
        let owner = 0;
        for (const [what, ms] of disturbances) {
          if (what === 'move') bench.group.give(0, members[(owner = 1 - owner)]);
          if (what === 'hold') bench.sink.hold();
          if (what === 'release') bench.sink.release();
          bench.run(ms);
        }
        bench.sink.release();
        for (const name of ['feishu', 'news']) bench.upstream(name).script = () => ({});
        bench.run(2 * 3_600_000);

        for (const worker of workers) {
          expect(worker.error).toBeUndefined();
          expect(held(worker.house, bench.time.now())).toEqual({});
        }
        // Nothing lost: every call has its terminal record. Nothing twice: at most one effect each.
        const ended = new Set([
          ...bench.results.map(({ id }) => id),
          ...bench.deadLetters.map(({ history }) => history.id),
        ]);
        expect(ended.size).toBe(calls.length);
        expect(bench.group.committed.get(0)?.offset).toBe(calls.length);
        const { effects } = bench.upstream();
        const reads = calls.flatMap(([maker], index) => (maker === 1 ? [`c-${index}`] : []));
        const acted = effects.filter((id) => !reads.includes(id));
        expect(new Set(acted).size).toBe(acted.length);
      }),
      { numRuns: 15 },
    );
  }, 60_000);

  it('and slots are 0 after a kill at any moment', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 20_000 }),
        fc.array(fate, { minLength: 20, maxLength: 40, size: 'max' }),
        (atMs, fates) => {
          const bench = new PipelineBench({
            upstreams: { feishu: { concurrency: 2, attemptMs: 3_000 } },
            processSlots: 2,
          });
          let turn = 0;
          bench.upstream().script = () => replyTo(fates[turn++ % fates.length] ?? ['ok', 0]);
          const worker = bench.start();
          for (let i = 0; i < 20; i++) bench.call(react(`r-${i}`));
          bench.run(atMs);
          worker.crash();
          const slots = worker.house.destinations.get('feishu')?.slots;
          expect([slots?.inUse, slots?.waiting, bench.upstream().inFlight]).toEqual([0, 0, 0]);
          const before = bench.upstream().attempts.length;
          bench.run(3_600_000);
          expect(bench.upstream().attempts).toHaveLength(before);
        },
      ),
      { numRuns: 30 },
    );
  });
});
