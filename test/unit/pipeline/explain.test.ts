import { describe, expect, it } from 'vitest';

import type { Explanation } from '../../../src/model/explanation.ts';
import { explainRecord } from '../../../src/pipeline/explain/explain-record.ts';
import { readRef } from '../../../src/pipeline/explain/find-record.ts';
import type { House } from '../../../src/pipeline/house.ts';
import { news, react, read, send } from '../../support/calls.ts';
import { type BenchOptions, PipelineBench } from '../../support/pipeline-bench.ts';

const startMs = Date.UTC(2026, 0, 1);
const iso = (afterMs: number) => new Date(startMs + afterMs).toISOString();

class ExplainBench extends PipelineBench {
  readonly house: House;

  constructor(options: BenchOptions = {}, prepare: (bench: PipelineBench) => void = () => undefined) {
    super(options);
    prepare(this);
    this.house = this.start().house;
  }

  explain(ref: string): Explanation {
    const found = explainRecord(this.house, readRef(ref), ref);
    if (found === undefined) throw new Error(`${ref} is not held`);
    return found;
  }
}

/** Each problem is planted, and the answer must name it, how long it lasts, and what can be done. */
describe('S000-95: explain, for a record that a worker holds', () => {
  it('names the quota of an API, how much it is, and when the next start comes', () => {
    const bench = new ExplainBench({ upstreams: { feishu: { limits: [{ limit: 2, windowMs: 60_000 }] } } });
    for (let n = 0; n < 5; n++) bench.call(read(`r-${n}`), `k-${n}`);
    bench.run(2_000);
    const told = bench.explain('r-4');
    expect(told).toMatchObject({ where: 'lane', id: 'r-4', at: 'calls/0/4', upstream: 'feishu' });
    expect(told.waits[0]).toMatchObject({ what: 'quota', ahead: 2 });
    expect(told.waits[0]?.why).toContain('2 in 60000 ms');
    const untilMs = Date.parse(told.waits[0]?.until ?? '') - startMs;
    expect(untilMs).toBeGreaterThan(55_000);
    expect(untilMs).toBeLessThan(61_000);
    expect(told.next).toMatchObject({ attempt: 1, of: 20 });
  });

  it('names the limit of one chat, told apart from that of the API', () => {
    const bench = new ExplainBench();
    bench.upstream().script = ({ id }) =>
      id === 'full' ? { status: 400, headers: { 'x-ogw-ratelimit-reset': '60' }, body: { code: 230_020 } } : {};
    bench.call(send('full', 'oc_1'), 'a');
    bench.run(100);
    bench.call(send('same', 'oc_1'), 'b');
    bench.run(1_000);
    const told = bench.explain('same');
    expect(told.waits[0]).toMatchObject({ what: 'receiver-limit', on: expect.stringContaining('oc_1') as string });
    expect(told.waits[0]?.why).toContain('this receiver');
    expect(Date.parse(told.waits[0]?.until ?? '') - startMs).toBeGreaterThan(55_000);
    const first = bench.explain('full');
    // It has been refused for so long that it left for a delay topic.
    expect(first.waits[0]).toMatchObject({ what: 'delay', why: expect.stringContaining('outside') as string });
  });

  it('names an open breaker, its state and when it tries again', () => {
    const bench = new ExplainBench({ upstreams: { news: { breaker: { consecutiveFailures: 2, minCalls: 2 } } } });
    bench.upstream('news').script = () => ({ status: 503 });
    for (let n = 0; n < 4; n++) bench.call(news(`n-${n}`), `k-${n}`);
    bench.run(1_500);
    const told = bench.explain('n-3');
    const breaker = told.waits.find(({ what }) => what === 'breaker');
    expect(breaker?.why).toContain('its breaker is open');
    expect(breaker?.until).toBeDefined();
    expect(breaker?.cure).toContain('/admin/api-health');
  });

  it('names a missing token scope as what the upstream says, while the brake holds the record', () => {
    const bench = new ExplainBench();
    const body = { code: 99_991_672, msg: 'Access denied. One of the following scopes is required: [im:message]' };
    bench.upstream().script = () => ({ status: 400, body });
    for (let n = 0; n < 80; n++) bench.call(send(`s-${n}`, `oc_${n}`), `k-${n}`);
    bench.run(3_000);
    expect(bench.deadLetters.length).toBeGreaterThanOrEqual(50);
    const told = bench.explain('s-79');
    expect(told.waits[0]).toMatchObject({ what: 'brake', on: 'feishu' });
    expect(told.waits[0]?.why).toContain('99991672');
    expect(told.waits[0]?.cure).toContain('no redrive');
  });

  it('names a hung upstream: the request that is out, since when, and when it is given up', () => {
    const bench = new ExplainBench({ upstreams: { news: { concurrency: 2, attemptMs: 8_000 } } });
    bench.upstream('news').script = () => ({ hang: true });
    for (let n = 0; n < 20; n++) bench.call(news(`n-${n}`), `k-${n}`);
    bench.run(2_000);
    expect(bench.explain('n-0')).toMatchObject({
      where: 'under-way',
      waits: [{ what: 'answer', on: 'news', since: iso(0), until: iso(8_000) }],
    });
    const behind = bench.explain('n-19');
    expect(behind.waits.map(({ what }) => what)).toEqual(['slot', 'answer']);
    expect(behind.waits[0]?.why).toContain('2 of 2 attempts');
    expect(behind.summary).toContain('has not answered yet');
  });

  it('names what fills the lanes for a record that is still in the buffer', () => {
    const bench = new ExplainBench({
      house: { laneItems: 10 },
      upstreams: { feishu: {}, news: { concurrency: 1, bucketConcurrency: 1 } },
    });
    bench.upstream('news').script = () => ({ hang: true });
    for (let n = 0; n < 30; n++) bench.call(news(`n-${n}`), `k-${n}`);
    bench.run(1_000);
    const told = bench.explain('n-25');
    expect(told.where).toBe('buffer');
    expect(told.waits[0]).toMatchObject({ what: 'buffer', on: 'calls/0', ahead: 15 });
    expect(told.waits[0]?.why).toContain('lanes are full with 10 records');
    expect(told.waits[1]?.why).toMatch(/\d+ records in the lanes wait because/);
  });

  it('names a topic that takes nothing, for the call that has ended and for those behind it', () => {
    const bench = new ExplainBench({ house: { maxInTurn: 4 } });
    bench.sink.hold();
    for (let n = 0; n < 10; n++) bench.call(read(`r-${n}`), `k-${n % 5}`);
    bench.run(5_000);
    const done = bench.explain('r-0');
    expect(done).toMatchObject({ where: 'under-way', waits: [{ what: 'topic', on: 'results' }] });
    expect(done.waits[0]?.cure).toContain('larkspur topics check');
    expect(done.attempts).toMatchObject([{ class: 'success' }]);
    expect(bench.explain('r-5').waits.map(({ what }) => what)).toEqual(['order', 'topic']);
    expect(bench.explain('r-4').waits.map(({ what }) => what)).toEqual(['turn']);
  });

  it('names the earlier call of the same key, and what that one waits for', () => {
    const bench = new ExplainBench();
    bench.upstream().script = () => ({
      status: 429,
      // Shorter than what leaves for a delay topic.
      headers: { 'x-ogw-ratelimit-reset': '8' },
      body: { code: 99_991_400 },
    });
    for (const id of ['first', 'second', 'third']) bench.call(send(id, 'oc_1'), 'chat');
    bench.run(1_000);
    const told = bench.explain('third');
    expect(told.waits.map(({ what }) => what)).toEqual(['order', 'quota']);
    expect(told.waits[0]).toMatchObject({ on: 'chat', ahead: 2 });
    expect(told.waits[0]?.why).toContain('the first of them is first');
    expect(told.waits[1]?.until).toBeDefined();
  });

  it('names the back-off between attempts, the next attempt and when it comes', () => {
    const bench = new ExplainBench();
    bench.upstream().script = () => ({ status: 500, body: { code: 1_500 } });
    bench.call(read('r'), 'k');
    bench.run(50);
    const told = bench.explain('r');
    expect(told.waits[0]).toMatchObject({ what: 'retry', on: 'feishu' });
    expect(told.next).toMatchObject({ attempt: 2, of: 20, notBefore: told.waits[0]?.until });
    expect(told.steps.map(({ what }) => what)).toEqual([
      expect.stringContaining('written to calls'),
      'read by this worker',
      expect.stringContaining('attempt: retryable (500'),
      'waits for its next attempt',
    ]);
    expect(told.deadline).toBe(iso(24 * 3_600_000));
  });

  it('names another worker that is at the same call, or the store of claims that is away, which need not be Redis', () => {
    const bench = new ExplainBench();
    const other = { id: 'r', origin: 'o', leaseMs: 60_000, ttlMs: 60_000, sent: true };
    bench.store.claims.claim(other).subscribe();
    bench.call(react('r'), 'k');
    bench.run(1_000);
    const told = () => bench.explain('r').waits[0];
    expect(told()).toMatchObject({ what: 'claim', on: 'r', why: 'another worker is at the same call' });
    Object.assign(bench.store.claims, { ready: () => false });
    expect(told()?.why).toBe('the store of claims does not answer');
  });

  it('names a platform that gives no token', () => {
    const bench = new ExplainBench({}, ({ tokens }) => {
      tokens.instead = { kind: 'unavailable', waitMs: 5_000, message: 'away' };
    });
    bench.call(send('s', 'oc_1'), 'k');
    bench.run(1_000);
    expect(bench.explain('s').waits[0]).toMatchObject({
      what: 'token',
      on: 'cli_a',
      until: expect.any(String) as string,
    });
  });

  it('S000-03: tells slow answers, sporadic 503 and failing token refreshes apart, also in the attempts of the result', () => {
    const bench = new ExplainBench({ upstreams: { feishu: { attemptMs: 2_000 } } });
    bench.upstream().script = ({ id, nth }) =>
      nth > 1 ? {} : id === 'slow' ? { hang: true } : id === 'sporadic' ? { status: 503 } : {};
    bench.call(read('slow'), 'a');
    bench.call(read('sporadic'), 'b');
    bench.run(10);
    bench.tokens.instead = { kind: 'unavailable', waitMs: 60, message: 'away' };
    bench.call(read('tokens'), 'c');
    bench.run(20);
    const told = ['slow', 'sporadic', 'tokens'].map((id) => bench.explain(id).waits[0]);
    expect(told.map((wait) => wait?.what)).toEqual(['answer', 'retry', 'token']);
    expect(told[1]?.why).toContain('503');
    bench.tokens.instead = undefined;
    bench.run(20_000);
    const first = (id: string) => bench.results.find((result) => result.id === id)?.attempts[0];
    expect(first('slow')).toMatchObject({ class: 'ambiguous' });
    expect(first('sporadic')).toMatchObject({ status: 503 });
    expect(first('tokens')).toMatchObject({ class: 'success', waitedFor: 'token' });
  });

  it('finds a record by its place, and knows nothing of one that it does not hold', () => {
    const bench = new ExplainBench({ upstreams: { news: {} } });
    bench.upstream('news').script = () => ({ hang: true });
    bench.call(news('n'), 'k');
    bench.run(10);
    expect(bench.explain('calls/0/0').id).toBe('n');
    expect(explainRecord(bench.house, readRef('calls/0/1'), '')).toBeUndefined();
    expect(explainRecord(bench.house, readRef('nobody'), '')).toBeUndefined();
  });
});
