import { describe, expect, it } from 'vitest';

import { PipelineBench } from '../../support/pipeline-bench.ts';
import type { Reply } from '../../support/scripted-upstream.ts';

const docx = '/open-apis/docx/v1/documents/d/blocks/b';

function post(path: string, body: unknown) {
  return { id: 'c', path, body };
}

// One row per class that the catalogue and the plain profile know; what a row may not do is its promise.
type Repeats = 'freely' | 'with its key' | 'never';
const hour = 3_600_000;
type Row = readonly [what: string, call: Readonly<Record<string, unknown>>, repeats: Repeats, windowMs?: number];
const rows: readonly Row[] = [
  ['a key in the body, 1 h', post('/open-apis/im/v1/messages', { receive_id: 'oc_1' }), 'with its key', hour],
  [
    'a key in the query, 1 h',
    post('/open-apis/im/v1/messages/om_1/forward', { receive_id: 'oc_1' }),
    'with its key',
    hour,
  ],
  ['a key in the query, 10 h', post('/open-apis/im/v1/chats', { name: 'a' }), 'with its key', 10 * hour],
  ['a key per token, 5 min', post('/open-apis/task/v2/tasks', { summary: 'a' }), 'with its key', 300_000],
  ['a key for ever', post('/open-apis/approval/v4/instances', { approval_code: 'a' }), 'with its key', 1e12],
  [
    'a UUID as key, no window',
    post('/open-apis/bitable/v1/apps/a/tables/t/records', { fields: {} }),
    'with its key',
    300_000,
  ],
  ['a DELETE with a key', { ...post(`${docx}/children/batch_delete`, {}), method: 'DELETE' }, 'with its key', 300_000],
  [
    'the id of a record as key, given',
    post('/open-apis/hire/v1/external_offers', { external_id: 'e' }),
    'with its key',
  ],
  ['the id of a record as key, not given', post('/open-apis/hire/v1/external_offers', {}), 'never'],
  ['a POST without key', post('/open-apis/im/v1/messages/om_1/reactions', {}), 'never'],
  ['a POST that by its name sets an end state', post('/open-apis/im/v1/pins', { message_id: 'om_1' }), 'never'],
  ['a POST that only reads', post('/open-apis/contact/v3/users/batch_get_id', {}), 'freely'],
  ['a PATCH of absolute values', { ...post('/open-apis/im/v1/messages/om_1', {}), method: 'PATCH' }, 'freely'],
  ['a GET', { path: '/open-apis/im/v1/messages' }, 'freely'],
  ['a DELETE', { path: '/open-apis/im/v1/messages/om_1', method: 'DELETE' }, 'freely'],
  ['an API that nobody knows', post('/open-apis/new/v9/things', {}), 'never'],
  ['a PUT that nobody knows', { ...post('/open-apis/new/v9/things', {}), method: 'PUT' }, 'freely'],
  ['a plain POST', { ...post('/items', {}), upstream: 'plain' }, 'never'],
  ['a plain PATCH', { ...post('/items/1', {}), upstream: 'plain', method: 'PATCH' }, 'never'],
  ['a plain PUT', { ...post('/items/1', {}), upstream: 'plain', method: 'PUT' }, 'freely'],
  ['a plain DELETE', { path: '/items/1', upstream: 'plain', method: 'DELETE' }, 'freely'],
  ['a plain GET', { path: '/items/1', upstream: 'plain' }, 'freely'],
  ['a plain POST where a key is read', { ...post('/items', {}), upstream: 'keyed' }, 'with its key', 1_000_000],
];

const endings: readonly (readonly [what: string, reply: Reply])[] = [
  ['a reset', { fail: { how: 'reset', sent: true } }],
  ['a time-out', { hang: true }],
  ['a 504', { status: 504, body: Buffer.alloc(0) }],
  ['a 500', { status: 500, body: Buffer.alloc(0) }],
];

function open(script: (nth: number) => Reply) {
  const upstream = { breaker: 'off', attemptMs: 1_000 } as const;
  const bench = new PipelineBench({
    upstreams: {
      feishu: upstream,
      plain: upstream,
      keyed: { ...upstream, idempotencyKey: { header: 'Idempotency-Key', windowMs: 1_000_000 } },
    },
  });
  for (const one of bench.upstreams.values()) one.script = ({ nth }) => script(nth);
  const worker = bench.start();
  return { bench, worker, attempts: () => [...bench.upstreams.values()].flatMap((one) => one.attempts) };
}

const table = rows.map(([what, call, repeats, windowMs]) => ({ what, call, repeats, windowMs }));

describe.each(endings)('after %s', (_ending, reply) => {
  const unknown = (call: Row[1]) => {
    const opened = open((nth) => (nth === 1 ? { ...reply, acts: true } : {}));
    opened.bench.call({ id: 'c', ...call });
    opened.bench.run(120_000);
    return opened;
  };

  it.each(table.filter(({ repeats }) => repeats === 'never'))('$what is never repeated', ({ call }) => {
    const { bench, attempts } = unknown(call);
    expect(attempts()).toHaveLength(1);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown', history: { unknown: { attempts: 1 } } }]);
  });

  it.each(table.filter(({ repeats }) => repeats !== 'never'))('$what is repeated $repeats', ({ call, repeats }) => {
    const { bench, attempts } = unknown(call);
    expect(bench.results).toMatchObject([{ status: 'ok' }]);
    expect(attempts()).toHaveLength(2);
    const [first, second] = attempts();
    expect([second?.path, second?.json, second?.key]).toEqual([first?.path, first?.json, first?.key]);
    expect(bench.results[0]?.attempts).toHaveLength(2);
    expect(first?.key !== undefined || JSON.stringify(call).includes('external_id')).toBe(repeats === 'with its key');
  });
});

describe('a call whose key has a window', () => {
  const withWindow = table.flatMap(({ windowMs, ...row }) =>
    windowMs === undefined || windowMs > 86_400_000 ? [] : [{ ...row, windowMs }],
  );

  it.each(withWindow)('$what: is not repeated past 80 % of it', ({ call, windowMs }) => {
    const { bench, attempts } = open(() => ({ fail: { how: 'reset', sent: true } }));
    bench.call({ id: 'c', ...call });
    bench.run(windowMs + 2 * hour);
    expect(attempts().length).toBeGreaterThan(2);
    expect(Math.max(...attempts().map(({ atMs }) => atMs))).toBeLessThan(0.8 * windowMs);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown', history: { unknown: { keyed: true } } }]);
  });
});

describe('a key that counts per token', () => {
  const task = post('/open-apis/task/v2/tasks', { summary: 'a' });

  it('does not protect under another token: the outcome stays unknown', () => {
    const { bench, attempts } = open((nth) => {
      if (nth === 1) return { fail: { how: 'reset', sent: true }, acts: true };
      return nth === 2 ? { status: 400, body: { code: 99991663 } } : {};
    });
    bench.call(task);
    bench.run(60_000);
    expect(attempts()).toHaveLength(2);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown' }]);
  });

  it('does not protect in the hands of another worker', () => {
    const { bench, worker, attempts } = open(() => ({ hang: true, acts: true }));
    bench.call(task);
    bench.run(500);
    worker.crash();
    bench.start();
    bench.run(60_000);
    expect(attempts()).toHaveLength(1);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown' }]);
  });

  it('protects as long as the token stays', () => {
    const { bench, attempts } = open((nth) => (nth === 1 ? { hang: true, acts: true } : {}));
    bench.call(task);
    bench.run(60_000);
    expect(attempts()).toHaveLength(2);
    expect(bench.results).toMatchObject([{ status: 'ok' }]);
  });
});

describe('a dead letter that is sent again', () => {
  it('carries the same key, however often', () => {
    const { bench, attempts } = open(() => ({ status: 403, body: { code: 99991672 } }));
    const { id: _own, ...call } = post('/open-apis/im/v1/messages', { receive_id: 'oc_1' });
    bench.call(call);
    bench.run(1_000);
    for (const round of [0, 1]) {
      const { value, headers } = bench.records('dead-letters')[round] ?? {};
      bench.raw(value ?? null, null, headers);
      bench.run(1_000);
    }
    expect(attempts()).toHaveLength(3);
    expect(new Set(attempts().map(({ key }) => key)).size).toBe(1);
    expect(attempts()[0]?.key).toMatch(/^lk-/);
  });
});
