import { describe, expect, it } from 'vitest';

import { Breaker, breakerDefaults, type Permit } from '../../../src/operators/index.ts';
import { news, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import type { Reply } from '../../support/scripted-upstream.ts';
import { seededRandom } from '../../support/virtual-time.ts';

const second = 1_000;
const minute = 60 * second;

/** Of so many times the one below which 99 % are. */
function p99(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0;
}

/** Calls to some upstreams at a steady rate, as seen by who waits for them. */
function steady(names: readonly string[], perSecond: number, seconds: number, hangs: boolean) {
  const bench = new PipelineBench({
    partitions: 2,
    upstreams: Object.fromEntries(names.map((name) => [name, { concurrency: 20, attemptMs: 3 * second }])),
  });
  const random = seededRandom(5);
  for (const name of names) bench.upstream(name).script = () => ({ afterMs: 20 + Math.floor(random.next() * 40) });
  if (hangs) bench.upstream(names[0]).script = () => ({ hang: true });
  for (const partition of [0, 1]) {
    const member = bench.group.member();
    bench.start(member);
    bench.group.give(partition, member);
  }
  for (let n = 0; n < perSecond * seconds; n++) {
    for (const name of names)
      bench.call(news(`${name}-${n}`, { upstream: name, ttlMs: 10 * minute }), `${name}-${n % 50}`);
    bench.run(second / perSecond);
  }
  bench.run(5 * second);
  return new Map(
    names.map((name) => [
      name,
      bench.results.filter(({ upstream }) => upstream === name).map(({ timing }) => timing.totalMs),
    ]),
  );
}

describe('what others suffer from a sick upstream', () => {
  it('P13: of three upstreams on shared partitions one hangs: the others lose neither calls nor time', () => {
    const names = ['sick', 'well', 'fine'];
    const [without, beside] = [steady(names, 10, 30, false), steady(names, 10, 30, true)];
    for (const name of ['well', 'fine']) {
      expect(beside.get(name)).toHaveLength(300);
      expect(p99(beside.get(name) ?? [])).toBeLessThanOrEqual(1.05 * p99(without.get(name) ?? []));
    }
    expect(beside.get('sick')).toEqual([]);
  });

  it('P14: what a worker holds of a backlog is as much after ten minutes of outage as after one', () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = () => ({ status: 503, afterMs: 20 });
    const { house } = bench.start();
    for (let n = 0; n < 20_000; n++) bench.call(news(`n-${n}`));
    const held = (): number => house.lanes.size + [...house.rings.stats()].reduce((sum, { items }) => sum + items, 0);
    bench.run(minute);
    const early = held();
    bench.run(9 * minute);
    expect(early).toBeGreaterThan(100);
    expect(held()).toBeLessThanOrEqual(early * 1.1);
    expect(bench.deadLetters).toEqual([]);
  }, 60_000);

  it('P16: ten minutes of nothing but 429 cost no attempt and no dead letter, and then all is done', () => {
    const bench = new PipelineBench({ upstreams: { news: { retry: { maxAttempts: 1, attemptsInARow: 1 } } } });
    bench.upstream('news').script = ({ atMs }) =>
      atMs < 10 * minute ? { status: 429, headers: { 'retry-after': '5' } } : {};
    bench.start();
    for (let n = 0; n < 200; n++) bench.call(news(`n-${n}`));
    bench.run(10 * minute);
    expect([bench.results, bench.deadLetters]).toEqual([[], []]);
    bench.run(2 * minute);
    expect(bench.results.map(({ status }) => status)).toEqual(Array<string>(200).fill('ok'));
  });

  it('P19: one endpoint of twenty-one fails always: it gets no more than its limit and few retries, the others go on as without it', () => {
    const names = Array.from({ length: 20 }, (_, n) => `well-${n}`);
    const run = (bad: boolean): { bench: PipelineBench; times: number[] } => {
      const limits = [{ limit: 5, windowMs: second }];
      const bench = new PipelineBench({
        upstreams: { bad: { limits }, ...Object.fromEntries(names.map((name) => [name, {}])) },
      });
      bench.upstream('bad').script = () => ({ status: 500, afterMs: 20 });
      for (const name of names) bench.upstream(name).script = () => ({ afterMs: 30 });
      bench.start();
      for (let n = 0; n < 600; n++) {
        if (bad) bench.call(news(`bad-${n}`, { upstream: 'bad' }), `bad-${n % 20}`);
        for (const name of names) if (n % 4 === 0) bench.call(news(`${name}-${n}`, { upstream: name }), name);
        bench.run(second);
      }
      bench.run(5 * second);
      const times = bench.results.filter(({ upstream }) => upstream !== 'bad').map(({ timing }) => timing.totalMs);
      return { bench, times };
    };
    const [beside, without] = [run(true), run(false)];
    expect(beside.times).toHaveLength(3_000);
    expect(p99(beside.times)).toBeLessThanOrEqual(1.05 * p99(without.times));

    const starts = beside.bench.upstream('bad').attempts;
    const inSecond = starts.map(
      ({ atMs }) => starts.filter((one) => one.atMs >= atMs && one.atMs < atMs + second).length,
    );
    expect(Math.max(...inSecond)).toBeLessThanOrEqual(5);
    // An outage: after the first failures there are probes alone, two in ten seconds.
    expect(starts.length).toBeLessThan(300);
  }, 60_000);

  it('P24: four replicas without hints: each learns of an outage by itself, sends few calls into it, and nothing is lost', () => {
    const bench = new PipelineBench({ partitions: 4 });
    const downMs = 5 * minute;
    const down: Reply = { status: 503, afterMs: 20 };
    bench.upstream('news').script = ({ atMs }) => (atMs > minute && atMs < minute + downMs ? down : { afterMs: 20 });
    const workers = Array.from({ length: 4 }, (_, partition) => {
      const member = bench.group.member();
      const worker = bench.start(member);
      bench.group.give(partition, member);
      return worker;
    });
    for (let n = 0; n < 1_200; n++) {
      bench.call(news(`n-${n}`), `k-${n}`);
      bench.run(100);
    }
    bench.run(10 * minute);
    expect(bench.results).toHaveLength(1_200);
    expect(bench.deadLetters).toEqual([]);
    expect(bench.group.committed.size).toBe(4);
    const into = bench.upstream('news').attempts.filter(({ atMs }) => atMs > minute && atMs < minute + downMs);
    // Each opens after 15 failures in a row, and then a round of at most five probes goes out in ten seconds.
    expect(into.length).toBeLessThanOrEqual(4 * (15 + 5 + 5 * (downMs / (10 * second) + 5)));
    expect(workers.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
  }, 60_000);

  it('P25: of five probes four must pass; three do not suffice, and the place of one that never answers is free again after its lease', () => {
    const opened = (): { breaker: Breaker; probes: Permit[]; nowMs: number } => {
      const breaker = new Breaker({ ...breakerDefaults, openJitter: 0 }, seededRandom(1));
      for (let n = 0; n < 15; n++) end(breaker, 0, false);
      const nowMs = breakerDefaults.coolDownMs;
      return { breaker, probes: Array.from({ length: 5 }, () => granted(breaker, nowMs)), nowMs };
    };
    const outcome = (passed: number): string => {
      const { breaker, probes, nowMs } = opened();
      for (const [n, permit] of probes.entries()) breaker.record(permit, nowMs + 20, n >= passed, 20);
      return breaker.snapshot(nowMs + 20).state;
    };
    expect([5, 4, 3, 0].map(outcome)).toEqual(['ramp', 'ramp', 'open', 'open']);

    const { breaker, probes, nowMs } = opened();
    for (const permit of probes.slice(0, 3)) breaker.record(permit, nowMs + 20, false, 20);
    breaker.record(probes[3]!, nowMs + 20, true, 20);
    expect(breaker.acquire(nowMs + breakerDefaults.probeLeaseMs - 1).kind).toBe('refused');
    expect(breaker.acquire(nowMs + breakerDefaults.probeLeaseMs).kind).not.toBe('refused');
    // The lost one answers at last: that was another round.
    expect(breaker.record(probes[4]!, nowMs + 20_000, true, 20)).toBe(false);
  });

  it.each([4, 5, 6])(
    'P29: with a threshold of five failures in a row, %i open it and tell of it just once from five on',
    (failures) => {
      const bench = new PipelineBench({
        upstreams: {
          news: {
            retry: 'off',
            breaker: { consecutiveFailures: 5, minCalls: Infinity, coolDownMs: minute, maxOpenMs: minute },
          },
        },
      });
      bench.upstream('news').script = () => ({ status: 500, afterMs: 10 });
      bench.start();
      for (let n = 0; n < failures; n++) {
        bench.call(news(`n-${n}`, { ttlMs: 10 * second }), 'one key');
        bench.run(second);
      }
      const told = bench.log.lines.filter(({ level, message }) => level === 'warn' && message === 'a breaker opened');
      expect(told).toHaveLength(failures < 5 ? 0 : 1);
      expect(bench.upstream('news').attempts).toHaveLength(Math.min(failures, 5));
    },
  );

  it('P29: one that succeeds among them keeps it closed', () => {
    const bench = new PipelineBench({
      upstreams: { feishu: { breaker: { consecutiveFailures: 5, minCalls: Infinity }, retry: 'off' } },
    });
    bench.upstream().script = ({ id }) => (id === 'c-4' ? {} : { status: 503, afterMs: 10 });
    bench.start();
    for (let n = 0; n < 9; n++) {
      bench.call(send(`c-${n}`, 'oc_1'), 'one key');
      bench.run(second);
    }
    expect(bench.log.text).not.toContain('a breaker opened');
  });
});

function granted(breaker: Breaker, nowMs: number): Permit {
  const answer = breaker.acquire(nowMs);
  if (answer.kind === 'refused') throw new Error('refused');
  return answer;
}

function end(breaker: Breaker, nowMs: number, ok: boolean): void {
  breaker.record(granted(breaker, nowMs), nowMs, !ok, 20);
}
