import { describe, expect, it } from 'vitest';

import { news, react, read, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('what a server asks for', () => {
  it('S000-77: no call is made before the reset, and no attempt is charged', () => {
    const bench = new PipelineBench({ upstreams: { feishu: { retry: { maxAttempts: 1 } } } });
    bench.upstream().script = ({ atMs }) =>
      atMs < 7_000 ? { status: 429, headers: { 'x-ogw-ratelimit-reset': '7' }, body: { code: 99991400 } } : {};
    bench.start();
    for (let i = 0; i < 10; i++) bench.call(read(`r-${i}`), `k-${i}`);
    bench.run(30_000);
    expect(bench.upstream().attempts.filter(({ atMs }) => atMs > 0 && atMs < 7_000)).toEqual([]);
    expect(bench.results).toHaveLength(10);
    expect(bench.results[0]?.attempts[1]).toMatchObject({ waitedFor: 'rate-limit' });
    expect(bench.results[0]?.timing.limitedMs).toBeGreaterThanOrEqual(7_000);
  });

  it('a refusal that comes as 400 with the code cools down too', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 400, body: { code: 99991400 } } : {});
    bench.start();
    bench.call(read('r'));
    bench.run(10_000);
    expect(bench.results[0]?.attempts.map((attempt) => attempt.class)).toEqual(['rate-limited', 'success']);
  });

  it('cools down the bucket that was refused and no other', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ id }) =>
      id === 'r' ? { status: 429, headers: { 'x-ogw-ratelimit-reset': '60' }, body: { code: 99991400 } } : {};
    bench.start();
    bench.call(read('r'), 'a');
    bench.run(100);
    bench.call(read('r-2'), 'b');
    bench.call(send('s'), 'c');
    bench.call(news('n'), 'd');
    bench.run(1_000);
    expect(bench.results.map(({ id }) => id).sort()).toEqual(['n', 's']);
  });

  it('cools down one chat when the chat was refused', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ id, nth }) =>
      id === 'full' && nth === 1
        ? { status: 400, headers: { 'x-ogw-ratelimit-reset': '60' }, body: { code: 230020 } }
        : {};
    bench.start();
    bench.call(send('full', 'oc_1'), 'a');
    bench.run(100);
    bench.call(send('same', 'oc_1'), 'b');
    bench.call(send('other', 'oc_2'), 'c');
    bench.run(1_000);
    expect(bench.results.map(({ id }) => id)).toEqual(['other']);
    bench.run(120_000);
    expect(bench.results).toHaveLength(3);
  });

  it('a refusal neither trips the breaker nor ends a call, however often it comes', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ atMs }) => (atMs < 600_000 ? { status: 429 } : {});
    const { house } = bench.start();
    for (let i = 0; i < 20; i++) bench.call(read(`r-${i}`));
    bench.run(700_000);
    const breaker = house.destinations.get('feishu')?.breakers?.get('open.feishu.cn/im').snapshot(bench.time.now());
    expect(breaker).toMatchObject({ state: 'closed', openings: 0 });
    expect(bench.results).toHaveLength(20);
    expect(bench.deadLetters).toEqual([]);
  });
});

describe('deadlines', () => {
  it.each([
    ['deadline', (wallMs: number) => ({ deadline: wallMs - 1 })],
    ['ttlMs', () => ({ ttlMs: 200 })],
  ])('a call whose %s leaves no time for an attempt ends at once', (_what, when) => {
    const bench = new PipelineBench();
    bench.start();
    bench.call(news('n', when(bench.time.wall())));
    bench.run(10);
    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed', attempts: 0 }]);
    expect(bench.upstream('news').attempts).toEqual([]);
  });

  it('an attempt never goes on past the deadline', () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = () => ({ hang: true });
    bench.start();
    bench.call(news('n', { ttlMs: 2_000 }));
    bench.run(2_000);
    expect(bench.upstream('news').inFlight).toBe(0);
    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed' }]);
  });

  it('a wait that would end after the deadline is not begun', () => {
    const bench = new PipelineBench({ upstreams: { news: { retry: { baseMs: 4_000, jitter: { additive: 0 } } } } });
    bench.upstream('news').script = () => ({ status: 503 });
    bench.start();
    bench.call(news('n', { ttlMs: 3_000 }));
    bench.run(10);
    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed', attempts: 1 }]);
  });
});

describe('tokens', () => {
  it.each([400, 200])('99991663 at %i drops the token and asks once more with a fresh one', (status) => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ headers }) =>
      headers['authorization'] === 'Bearer token-1' ? { status, body: { code: 99991663 }, acts: false } : {};
    bench.start();
    bench.call(react('c'));
    bench.run(1_000);
    expect(bench.results).toMatchObject([{ status: 'ok' }]);
    expect(bench.upstream().attempts.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer token-1',
      'Bearer token-2',
    ]);
    expect(bench.tokens.rejected).toEqual([1]);
  });

  it('a second refusal of the fresh token ends as auth_failed', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ status: 400, body: { code: 99991663 } });
    bench.start();
    bench.call(react('c'));
    bench.run(1_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'auth_failed', class: 'auth', attempts: 2 }]);
  });

  it('a token that cannot be had for now is waited for, one that never can ends the call', () => {
    const bench = new PipelineBench();
    bench.tokens.instead = { kind: 'unavailable', waitMs: 2_000, message: 'away' };
    bench.start();
    bench.call(react('c'));
    bench.run(1_000);
    expect([bench.results, bench.deadLetters]).toEqual([[], []]);
    bench.tokens.instead = undefined;
    bench.run(2_000);
    expect(bench.results[0]?.attempts[0]).toMatchObject({ waitedFor: 'token' });
    bench.tokens.instead = { kind: 'refused', message: 'the secret is wrong' };
    bench.call(react('d'));
    bench.run(1_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'auth_failed' }]);
  });

  it('a token that goes stale again hours later is fetched again', () => {
    const bench = new PipelineBench();
    const answers = [
      { status: 400, body: { code: 99991663 } },
      { status: 503 },
      { status: 400, body: { code: 99991663 } },
      {},
    ];
    bench.upstream().script = ({ nth }) => answers[nth - 1] ?? {};
    bench.start();
    bench.call(read('c'));
    bench.run(60_000);
    expect(bench.results[0]?.attempts.map((attempt) => attempt.class)).toEqual([
      'auth',
      'retryable',
      'auth',
      'success',
    ]);
  });
});
