import { describe, expect, it } from 'vitest';

import { partitionFor } from '../../../src/model/partitioner.ts';
import { QuotaBook } from '../../../src/operators/limit/quota-book.ts';
import { FixedWindow, SlidingWindow } from '../../../src/sandbox/state/windows.ts';
import { news, react, read, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import { ScriptedQuotaLog } from '../../support/quota/scripted-quota-log.ts';

type KeyOf = (n: number) => string;

/** The n-th of some keys on a partition of two. */
function keyOn(partition: number, n: number): string {
  for (let salt = 0; ; salt++) {
    const key = `k-${n}-${salt}`;
    if (partitionFor(Buffer.from(key), 2) === partition) return key;
  }
}

const perSecond = { limit: 50, windowMs: 1_000 };

describe('quota, as the articles and the cases want it', () => {
  it.each([
    ['sliding', () => new SlidingWindow(perSecond)],
    ['fixed', () => new FixedWindow(perSecond)],
  ])('S000-07: of 2,000 calls at once none is refused by a tier of 50 a second with %s windows', (_, open) => {
    const bench = new PipelineBench({ upstreams: { feishu: { limits: [perSecond] } } });
    const window = open();
    let refusals = 0;
    bench.upstream().script = ({ atMs }) => {
      if (window.waitMs(atMs) > 0) refusals++;
      window.take(atMs);
      return { afterMs: 60 };
    };
    bench.start();
    for (let n = 0; n < 2_000; n++) bench.call(read(`r-${n}`));
    bench.run(43_000);
    expect(bench.results).toHaveLength(2_000);
    expect(refusals).toBe(0);
  });

  it('F22: 60 messages at once to 20 chats: 50 in any second and 5 a chat at most, none lost, in order per chat', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ afterMs: 60 });
    bench.start();
    for (let n = 0; n < 60; n++) bench.call(send(`s-${n}`, `oc_${n % 20}`), `oc_${n % 20}`);
    bench.run(5_000);
    const { attempts } = bench.upstream();
    expect(bench.results).toHaveLength(60);
    const most = (starts: readonly number[]): number =>
      Math.max(...starts.map((fromMs) => starts.filter((atMs) => atMs >= fromMs && atMs < fromMs + 1_000).length));
    expect(most(attempts.map(({ atMs }) => atMs))).toBeLessThanOrEqual(50);
    for (let chat = 0; chat < 20; chat++) {
      const own = attempts.filter(({ id }) => Number(id.slice(2)) % 20 === chat);
      expect(most(own.map(({ atMs }) => atMs))).toBeLessThanOrEqual(5);
      expect(own.map(({ id }) => id)).toEqual([chat, chat + 20, chat + 40].map((n) => `s-${n}`));
    }
  });

  it('P18: after a refusal no replica calls that bucket before the reset, and the other buckets go on', () => {
    const book = new QuotaBook();
    const logs: ScriptedQuotaLog[] = [];
    const bench = new PipelineBench({
      partitions: 4,
      quota: (time) => {
        const log = new ScriptedQuotaLog(time, book, logs);
        log.replicas = 4;
        logs.push(log);
        return log;
      },
    });
    let refusals = 0;
    bench.upstream().script = ({ atMs, path }) =>
      atMs >= 5_000 && path.includes('/messages') && refusals++ === 0
        ? { status: 429, headers: { 'x-ogw-ratelimit-reset': '7' }, body: { code: 99_991_400 }, afterMs: 40 }
        : { afterMs: 40 };
    for (let member = 0; member < 4; member++) {
      const source = bench.group.member();
      bench.start(source);
      bench.group.give(member, source);
    }
    const pins = (n: number) => ({ id: `p-${n}`, path: '/open-apis/im/v1/pins', body: { message_id: `om_${n}` } });
    for (let n = 0; n < 1_500; n++) bench.call(n % 3 === 0 ? pins(n) : read(`r-${n}`), `k-${n}`);
    bench.run(70_000);
    const reads = bench.upstream().attempts.filter(({ path }) => path.includes('/messages'));
    const firstMs = reads.find(({ atMs }) => atMs >= 5_000)?.atMs ?? 0;
    const resting = reads.filter(({ atMs }) => atMs > firstMs + 40 + 100 && atMs < firstMs + 40 + 7_000);
    expect(resting).toEqual([]);
    expect(reads.filter(({ atMs }) => atMs >= firstMs + 7_000 && atMs < firstMs + 9_000).length).toBeGreaterThan(0);
    expect(
      bench
        .upstream()
        .attempts.filter(({ id, atMs }) => id.startsWith('p-') && atMs > firstMs + 200 && atMs < firstMs + 3_000)
        .length,
    ).toBeGreaterThan(50);
    expect(bench.results).toHaveLength(1_500);
  });

  it('S004-06: 1,200 failing calls a second are at most 1.1 times as many at the upstream, also where no breaker opens', () => {
    const bench = new PipelineBench({ upstreams: { news: { breaker: 'off', concurrency: 4_096 } } });
    bench.upstream('news').script = () => ({ status: 500 });
    bench.start();
    const reached = () => bench.upstream('news').attempts.length;
    for (let second = 0; second < 2; second++) {
      const before = reached();
      for (let n = 0; n < 1_200; n++) {
        bench.call(news(`${second}-${n}`));
        bench.run(1_000 / 1_200);
      }
      expect(reached() - before).toBeGreaterThanOrEqual(600);
      expect(reached() - before).toBeLessThanOrEqual(1.1 * 1_200);
    }
  });

  it('S004-06: a POST without a key is never made again after a time-out', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ afterMs: 60_000 });
    bench.start();
    bench.call(react('r'));
    bench.run(600_000);
    expect(bench.upstream().attempts).toHaveLength(1);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown' }]);
  });

  it('S000-80: one breaker holds the calls of a dead upstream, whether they come from calls or from a delay topic', () => {
    const bench = new PipelineBench({ upstreams: { feishu: { retry: { maxAttempts: 20 } } } });
    bench.upstream().script = () => ({ status: 503 });
    const { house } = bench.start();
    for (let n = 0; n < 100; n++) bench.call(read(`r-${n}`));
    bench.run(120_000);
    const outside = bench.records('retry.10s').length + bench.records('retry.1m').length;
    expect(outside).toBeGreaterThan(0);
    expect([...(house.destinations.get('feishu')?.breakers?.entries() ?? [])]).toHaveLength(1);
    // 14 until it opened, then probes.
    expect(bench.upstream().attempts.length).toBeLessThan(100);
    expect([bench.results, bench.deadLetters]).toEqual([[], []]);
  });
});

describe('fairness', () => {
  it("a tenant's first call is made within a second of its arrival and its tenth within two, behind 100,000 of another", () => {
    const bench = new PipelineBench({ partitions: 2, upstreams: { feishu: { limits: [perSecond] } } });
    bench.upstream().script = () => ({ afterMs: 60 });
    bench.start();
    const [full, free] = [0, 1].map(
      (partition) =>
        (n: number): string =>
          keyOn(partition, n),
    ) as [KeyOf, KeyOf];
    for (let n = 0; n < 100_000; n++) bench.call(read(`a-${n}`, { tenant: 'a' }), full(n % 5_000));
    bench.run(5_000);
    const arrivedMs = bench.time.now();
    // In another partition: what stands in one is read in its order.
    for (let n = 0; n < 10; n++) bench.call(read(`b-${n}`, { tenant: 'b' }), free(n));
    bench.run(3_000);
    const starts = bench
      .upstream()
      .attempts.filter(({ id }) => id.startsWith('b-'))
      .map(({ atMs }) => atMs - arrivedMs);
    expect(starts[0]).toBeLessThanOrEqual(1_000);
    expect(starts[9]).toBeLessThanOrEqual(2_000);
  });

  it('P30: behind 100,000 of one tenant, each of 99 others ends within twice its fair share of the time; none of the rate is left unused', () => {
    const bench = new PipelineBench({ partitions: 2, upstreams: { feishu: { limits: [perSecond] } } });
    bench.upstream().script = () => ({ afterMs: 60 });
    bench.start();
    for (let n = 0; n < 100_000; n++) bench.call(read(`a-${n}`, { tenant: 'a' }), keyOn(0, n % 500));
    bench.run(5_000);
    const arrivedMs = bench.time.now();
    const [tenants, each] = [99, 20];
    for (let n = 0; n < tenants * each; n++) {
      bench.call(read(`t-${n}`, { tenant: `t${n % tenants}` }), keyOn(1, n));
    }
    const fairMs = (1_000 * each * (tenants + 1)) / perSecond.limit;
    bench.run(2 * fairMs);
    const { attempts } = bench.upstream();
    expect(attempts.filter(({ id }) => id.startsWith('t-'))).toHaveLength(tenants * each);
    const made = attempts.filter(({ atMs }) => atMs >= arrivedMs && atMs < arrivedMs + 2 * fairMs).length;
    expect(made).toBeGreaterThanOrEqual((0.98 * 2 * fairMs * perSecond.limit) / 1_000);
  });

  it('interactive, normal and bulk calls get 8 : 4 : 1 of a bucket that is too small for all', () => {
    const bench = new PipelineBench({ upstreams: { feishu: { limits: [perSecond] } }, house: { laneItems: 8_192 } });
    bench.upstream().script = () => ({ afterMs: 20 });
    bench.start();
    const priorities = ['interactive', 'normal', 'bulk'] as const;
    for (let n = 0; n < 3_000; n++) {
      const priority = priorities[n % 3] ?? 'normal';
      bench.call(read(`${priority}-${n}`, { priority }), `k-${n}`);
    }
    bench.run(20_000);
    const { attempts } = bench.upstream();
    const shares = priorities.map((name) => attempts.filter(({ id }) => id.startsWith(name)).length / attempts.length);
    for (const [index, weight] of [8, 4, 1].entries()) {
      expect((shares[index] ?? 0) / (weight / 13)).toBeGreaterThan(0.9);
      expect((shares[index] ?? 0) / (weight / 13)).toBeLessThan(1.1);
    }
  });
});
