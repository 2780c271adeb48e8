import { describe, expect, it } from 'vitest';

import { heldHeader, heldStateOf } from '../../../src/model/held.ts';
import { headerText } from '../../../src/model/record.ts';
import { news, react, read, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const refusedUntil =
  (untilMs: number, seconds: number) =>
  ({ atMs }: { readonly atMs: number }) =>
    atMs < untilMs
      ? { status: 429, headers: { 'x-ogw-ratelimit-reset': String(seconds) }, body: { code: 99991400 } }
      : {};

const delayRecords = (bench: PipelineBench) =>
  ['retry.10s', 'retry.1m', 'retry.10m', 'retry.1h'].map((topic) => bench.records(topic).length);

describe('a call that waits for long', () => {
  it('leaves for a delay topic, and its offset is done at once', () => {
    const bench = new PipelineBench();
    bench.upstream().script = refusedUntil(30_000, 30);
    bench.start();
    bench.call(read('r'));
    bench.run(2_000);
    expect(delayRecords(bench)).toEqual([1, 0, 0, 0]);
    expect(bench.store.lag('workers', ['calls'])).toMatchObject([{ lag: 0 }]);
    expect(bench.results).toEqual([]);
    bench.run(40_000);
    expect(bench.results).toMatchObject([{ id: 'r', status: 'ok' }]);
    expect(bench.upstream().attempts).toHaveLength(2);
    expect(bench.lag).toBe(0);
  });

  it('waits exactly: in steps of the longest topic that is not too long, the rest in the process', () => {
    const bench = new PipelineBench({ random: { next: () => 0 } });
    const secondsAsked = 2 * 600 + 60 + 3 * 10 + 7;
    bench.upstream().script = refusedUntil(1, secondsAsked);
    bench.start();
    bench.call(read('r'));
    bench.run((secondsAsked + 2) * 1_000);
    const [first, second] = bench.upstream().attempts.map(({ atMs }) => atMs);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(secondsAsked * 1_000);
    expect((second ?? 0) - (first ?? 0)).toBeLessThan(secondsAsked * 1_000 + 100);
    expect(delayRecords(bench)).toEqual([3, 1, 2, 0]);
    expect(bench.results).toHaveLength(1);
  });

  it('goes on with its number of attempts, its history, its origin and the time that it has taken', () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = ({ nth }) => (nth <= 5 ? { status: 503 } : {});
    bench.start();
    bench.call(news('n'));
    bench.run(200_000);
    const [result] = bench.results;
    expect(result?.origin).toMatch(/^bench\/calls\/0\/0\//);
    expect(result?.attempts.map((attempt) => attempt.class)).toEqual([
      ...Array<string>(5).fill('retryable'),
      'success',
    ]);
    expect(result?.timing.totalMs).toBeGreaterThan(8_000);
  });

  it('keeps its deadline: a wait that ends after it is not begun, and one that outlasts it ends the call', () => {
    const bench = new PipelineBench();
    bench.upstream().script = refusedUntil(60_000, 40);
    bench.start();
    bench.call(read('r', { ttlMs: 50_000 }));
    bench.run(39_000);
    expect(bench.deadLetters).toEqual([]);
    bench.run(30_000);
    expect(bench.deadLetters).toMatchObject([
      { reason: 'deadline_passed', origin: expect.stringMatching(/calls/) as string },
    ]);
    expect(bench.upstream().attempts.every(({ atMs }) => atMs < 50_000)).toBe(true);
  });

  it('has a header of constant size, and its record and its dead letter are its caller’s bytes', () => {
    const bench = new PipelineBench({ upstreams: { news: { retry: { maxAttempts: 40 } } } });
    bench.upstream('news').script = () => ({ status: 503, body: { message: 'x'.repeat(2_000) } });
    bench.start();
    const headers = [['traceparent', Buffer.from('00-1-2-03')] as const];
    bench.call(news('n', { ttlMs: 20_000_000 }), null, headers);
    bench.run(20_000_000);
    const held = ['retry.10s', 'retry.1m', 'retry.10m', 'retry.1h'].flatMap((topic) => bench.records(topic));
    expect(held.length).toBeGreaterThan(10);
    for (const record of held) {
      expect(record.value).toEqual(bench.records('calls')[0]?.value);
      expect(headerText(record.headers, 'traceparent')).toBe('00-1-2-03');
      expect(record.headers.filter(([name]) => name === heldHeader)).toHaveLength(1);
      expect(headerText(record.headers, heldHeader)?.length).toBeLessThan(3_072);
    }
    const [dead] = bench.deadLetters;
    expect(dead?.record.headers.some(([name]) => name === heldHeader)).toBe(false);
    expect(dead?.attempts).toBeGreaterThan(20);
  });

  it('days: a wait of two days with a deadline of its own is kept, in hops of an hour', () => {
    const bench = new PipelineBench({ random: { next: () => 0 } });
    const day = 86_400_000;
    bench.upstream('news').script = ({ atMs }) => (atMs < 1 ? { status: 503 } : {});
    bench.start();
    const untilMs = 2 * day;
    bench.call(news('n', { ttlMs: 5 * day }));
    bench.run(100);
    const [calls] = bench.records('calls');
    const state = {
      ...{ v: 1, origin: 'bench/calls/0/99/1', notBeforeMs: 0, restMs: untilMs, why: 'rate-limit', sinceMs: 0, hop: 1 },
      ...{ deadlineMs: bench.time.wall() + 5 * day, attemptsMade: 1, charged: 0, holds: 0, firstReadMs: 0 },
      ...{ inFlightMs: 1, limitedMs: 0, attempts: [] },
    };
    bench.store.sink
      .append({
        topic: 'retry.1h',
        key: null,
        value: Buffer.from(JSON.stringify(news('late'))),
        headers: [...(calls?.headers ?? []), [heldHeader, Buffer.from(JSON.stringify(state))]],
      })
      .subscribe();
    bench.run(untilMs - 1);
    expect(bench.upstream('news').attempts.some(({ id }) => id === 'late')).toBe(false);
    bench.run(1_000);
    expect(bench.upstream('news').attempts.find(({ id }) => id === 'late')?.atMs).toBeLessThan(untilMs + 1_100);
    expect(bench.records('retry.1h').length).toBe(48);
    expect(bench.results.find(({ id }) => id === 'late')?.origin).toBe('bench/calls/0/99/1');
  });
});

describe('a call that waits outside and a worker that ends', () => {
  it('comes back to the next worker, is made once, and none before its time', () => {
    const bench = new PipelineBench();
    bench.upstream().script = refusedUntil(30_000, 30);
    const first = bench.start();
    bench.call(read('r'));
    bench.run(5_000);
    first.crash();
    bench.run(5_000);
    bench.start();
    bench.run(60_000);
    expect(bench.results).toHaveLength(1);
    expect(bench.upstream().attempts.filter(({ atMs }) => atMs > 1_000 && atMs < 30_000)).toEqual([]);
  });

  it.each([
    ['send', send('c')],
    ['react', react('c')],
  ])('killed before its record is in the delay topic, a %s is read again and made once', (_name, call) => {
    const bench = new PipelineBench();
    bench.upstream().script = refusedUntil(30_000, 30);
    const first = bench.start();
    bench.sink.hold();
    bench.call(call);
    bench.run(5_000);
    expect(bench.sink.waiting).toBe(1);
    first.crash();
    bench.start();
    bench.sink.release();
    bench.run(120_000);
    expect(bench.upstream().effects).toEqual(['c']);
    expect(new Set(bench.results.map((result) => JSON.stringify(result))).size).toBe(1);
  });

  it('without a state that can be read, a record of a delay topic is a call like any other, when its topic is due', () => {
    const bench = new PipelineBench();
    bench.start();
    const value = Buffer.from(JSON.stringify(news('n')));
    const headers = [[heldHeader, Buffer.from('{"v":1}')] as const];
    expect(heldStateOf({ headers })).toBeUndefined();
    bench.store.sink.append({ topic: 'retry.10s', key: null, value, headers }).subscribe();
    bench.run(9_999);
    expect(bench.results).toEqual([]);
    bench.run(1_000);
    expect(bench.results).toHaveLength(1);
  });

  it('a record of calls cannot bring a state with it', () => {
    const bench = new PipelineBench();
    bench.start();
    const forged = { v: 1, origin: 'other/calls/0/0/0', notBeforeMs: 9e15, restMs: 1e9, attempts: [] };
    bench.call(news('n'), null, [[heldHeader, Buffer.from(JSON.stringify(forged))]]);
    bench.run(100);
    expect(bench.results).toMatchObject([{ id: 'n', origin: expect.stringMatching(/^bench\/calls/) as string }]);
  });
});
