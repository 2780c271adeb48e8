import { describe, expect, it } from 'vitest';

import { headerText } from '../../../src/model/record.ts';
import { news, react, read, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('a call that its upstream answers', () => {
  it('ends in a result with everything the reader needs, under the key of the call', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({
      headers: { 'x-tt-logid': 'log-1' },
      body: { code: 0, data: { message_id: 'om_9' } },
      afterMs: 40,
    });
    bench.start();
    bench.call(send('c-1', 'oc_1', { context: { ticket: 7 } }), 'oc_1', [
      ['x-request-id', Buffer.from('r-1')],
      ['private', Buffer.from('stays')],
    ]);
    bench.run(1_000);

    expect(bench.results).toEqual([
      {
        id: 'c-1',
        origin: `bench/calls/0/0/${bench.time.wallStartMs}`,
        status: 'ok',
        source: 'live',
        upstream: 'feishu',
        response: {
          status: 200,
          code: 0,
          logId: 'log-1',
          contentType: 'application/json',
          body: { code: 0, data: { message_id: 'om_9' } },
        },
        attempts: [{ started: '2026-01-01T00:00:00.000Z', ms: 40, class: 'success', status: 200, code: 0 }],
        timing: { queuedMs: 0, limitedMs: 0, inFlightMs: 40, totalMs: 40 },
        context: { ticket: 7 },
      },
    ]);
    const [record] = bench.records('results');
    expect(record?.key?.toString()).toBe('oc_1');
    expect(record?.headers.map(([name]) => name)).toEqual(['x-request-id']);
    expect(bench.lag).toBe(0);
  });

  it('carries the token, the request id and the retry count on the request', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 503 } : {});
    bench.start();
    bench.call(read('c-1'));
    bench.run(30_000);

    expect(bench.upstream().attempts.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer token-1',
      'Bearer token-1',
    ]);
    expect(bench.upstream().attempts.map(({ headers }) => headers['x-retry-count'])).toEqual(['0', '1']);
    expect(JSON.stringify(bench.results)).not.toContain('token-1');
  });

  it('is named by its origin when it has no id of its own', () => {
    const bench = new PipelineBench();
    bench.start();
    bench.call(send(undefined));
    bench.run(1_000);
    expect(bench.results[0]).toMatchObject({ id: bench.results[0]?.origin });
  });
});

describe('a record that is no call', () => {
  const poison: readonly (readonly [string, string | object, string, RegExp])[] = [
    ['no JSON', '{"path":', 'undecodable', /not JSON/],
    ['another shape', { path: 'x', ttlMs: 0, sideways: 1 }, 'invalid_call', /\/path.*\/ttlMs|\/sideways/s],
    ['an unknown upstream', { ...news('n'), upstream: 'weather' }, 'unroutable', /"weather".*feishu, news/],
    ['an unknown app', send('x', 'oc_1', { app: 'cli_z' }), 'unroutable', /cli_z/],
    ['a path that leaves its host', { path: '//evil.example/x' }, 'invalid_call', /\/path/],
  ];

  it.each(poison)('%s ends as a dead letter with its own bytes', (_what, value, reason, message) => {
    const bench = new PipelineBench();
    bench.start();
    const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
    bench.raw(bytes, 'key-1', [
      ['trace', Buffer.from([0, 255])],
      ['trace', Buffer.from('twice')],
    ]);
    bench.call(send('good'));
    bench.run(1_000);

    const [letter] = bench.deadLetters;
    expect(letter?.reason).toBe(reason);
    expect(letter?.history.message).toMatch(message);
    expect(letter?.record.value?.equals(bytes)).toBe(true);
    expect(letter?.record.key?.toString()).toBe('key-1');
    expect(letter?.record.headers.slice(0, 2)).toEqual([
      ['trace', Buffer.from([0, 255])],
      ['trace', Buffer.from('twice')],
    ]);
    expect(letter?.record.headers.slice(2).map(([name]) => name)).toEqual([
      'larkspur-reason',
      'larkspur-class',
      'larkspur-origin',
      'larkspur-attempts',
      'larkspur-history',
    ]);
    expect(letter?.origin).toBe(`bench/calls/0/0/${bench.time.wallStartMs}`);
    expect(bench.results.map(({ id }) => id)).toEqual(['good']);
    expect(bench.lag).toBe(0);
  });

  it('is told every mistake at once', () => {
    const bench = new PipelineBench();
    bench.start();
    bench.call({ path: 'x', ttlMs: 0, sideways: 1, priority: 'urgent' });
    bench.run(1_000);
    expect(bench.deadLetters[0]?.history.faults?.map(({ at }) => at).sort()).toEqual([
      '/path',
      '/priority',
      '/sideways',
      '/ttlMs',
    ]);
  });

  it('is skipped when it is a tombstone: nothing is written, the offset is done', () => {
    const bench = new PipelineBench();
    const worker = bench.start();
    bench.raw(null, 'key-1');
    bench.run(1_000);
    expect(worker.settled.map(({ ending }) => ending)).toEqual(['skipped']);
    expect([bench.results, bench.deadLetters, bench.lag]).toEqual([[], [], 0]);
  });

  it('keeps its header bytes bounded however often it is redriven', () => {
    const bench = new PipelineBench();
    bench.start();
    bench.call(send('x', 'oc_1', { app: 'cli_z' }), 'k', [['own', Buffer.from('1')]]);
    bench.run(1_000);
    const size = () =>
      bench.deadLetters.at(-1)?.record.headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0) ?? 0;
    const first = size();
    for (let round = 1; round <= 10; round++) {
      const letter = bench.deadLetters.at(-1)?.record;
      bench.raw(letter?.value ?? null, 'k', letter?.headers);
      bench.run(1_000);
    }
    expect(bench.deadLetters).toHaveLength(11);
    expect(size()).toBeLessThanOrEqual(first + 4);
    expect(headerText(bench.deadLetters.at(-1)?.record.headers ?? [], 'own')).toBe('1');
  });
});

describe('the same call twice', () => {
  it('answers the second one with the first result, and calls once', () => {
    const bench = new PipelineBench();
    bench.start();
    bench.call(react('c-1', { context: { n: 1 } }), 'a');
    bench.run(1_000);
    bench.call(react('c-1', { context: { n: 2 } }), 'b');
    bench.run(1_000);
    const [first, second] = bench.results;
    expect(second).toEqual({
      ...first,
      origin: `bench/calls/0/1/${bench.time.wallStartMs + 1_000}`,
      status: 'duplicate',
      context: { n: 2 },
    });
    expect(bench.upstream().attempts).toHaveLength(1);
  });

  it('waits for the first while that is under way, then answers with its result', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ afterMs: 4_000 });
    bench.start();
    bench.call(react('c-1'), 'a');
    bench.call(react('c-1'), 'b');
    bench.run(3_000);
    expect(bench.results).toEqual([]);
    bench.run(3_000);
    expect(bench.results.map(({ status }) => status)).toEqual(['ok', 'duplicate']);
    expect(bench.upstream().effects).toEqual(['c-1']);
  });

  it('S000-34: a redelivered record gives its own result back, byte for byte', () => {
    const bench = new PipelineBench();
    bench.sink.hold();
    const dying = bench.start();
    bench.call(react('c-1'));
    bench.run(1_000);
    expect(bench.sink.waiting).toBe(1);
    dying.crash();
    bench.start();
    bench.run(1_000);
    bench.sink.release();
    bench.run(1_000);
    const values = bench.records('results').map(({ value }) => String(value));
    expect(new Set(values).size).toBe(1);
    expect(bench.results[0]?.status).toBe('ok');
    expect(bench.upstream().effects).toEqual(['c-1']);
    expect(bench.lag).toBe(0);
  });

  it('repeats the dead letter of a call that ended as one', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ status: 400, body: { code: 230001, msg: 'bad' } });
    bench.start();
    bench.call(react('c-1'), 'a');
    bench.run(1_000);
    bench.call(react('c-1'), 'b');
    bench.run(1_000);
    expect(bench.deadLetters.map(({ reason }) => reason)).toEqual(['permanent', 'permanent']);
    expect(bench.upstream().attempts).toHaveLength(1);
  });
});
