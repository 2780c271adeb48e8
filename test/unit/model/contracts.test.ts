import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { checkCall } from '../../../src/model/contracts.ts';
import { isDateTime } from '../../../src/model/date-time.ts';

const faultsOf = (value: unknown) => {
  const check = checkCall(value);
  return check.ok ? [] : check.faults;
};

describe('checkCall', () => {
  it('accepts the least a user must write and hands the same object on', () => {
    const call = { path: '/open-apis/im/v1/messages', query: { receive_id_type: 'chat_id' }, body: { a: 1 } };

    expect(checkCall(call)).toEqual({ ok: true, call });
  });

  it('names every wrong field at once, those of the schema and those of the other rules', () => {
    const faults = faultsOf({ path: '/a/../b', method: 'GTE', extra: 1, headers: { host: 'x' }, ttlMs: -1 });

    expect(faults.map(({ at }) => at).sort()).toEqual(['/extra', '/headers/host', '/method', '/path', '/ttlMs']);
  });

  it('never repeats a value: a call may carry secrets', () => {
    const secret = 'hunter2hunter2';
    const faults = faultsOf({
      path: `bad ${secret}`,
      method: secret,
      as: secret,
      deadline: secret,
      headers: { a: `\n${secret}` },
      query: { a: { b: secret } },
    });

    expect(faults.length).toBeGreaterThanOrEqual(6);
    expect(JSON.stringify(faults)).not.toContain(secret);
  });

  it('stops at 20 faults', () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field${index}`, 1]));

    expect(faultsOf({ path: '/a', ...many })).toHaveLength(20);
  });

  it('refuses a mistake that stands behind a hundred good entries', () => {
    const query: Record<string, unknown> = {};
    for (let index = 0; index < 500; index++) query[`k${index}`] = 1;
    query['last'] = {};

    expect(faultsOf({ path: '/a', query })).toEqual([expect.objectContaining({ at: '/query/last' })]);
  });

  it.each([
    ['multipart that is no list', { multipart: 5 }],
    ['parts that are no maps', { multipart: [null] }],
    ['headers that are a text', { headers: 'abc' }],
    ['a path that has no text', { path: { toString: 1, valueOf: 1 } }],
  ])('names %s also behind a hundred unknown fields', (_what, wrong) => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`field${index}`, 1]));
    const [field = ''] = Object.keys(wrong);

    expect(faultsOf({ ...many, ...wrong }).map(({ at }) => at.split('/')[1])).toContain(field);
  });

  it('says what a hidden mistake should have been', () => {
    const headers: Record<string, unknown> = {};
    for (let index = 0; index < 150; index++) headers[`k${index}`] = index === 120 ? 5 : 'a';

    expect(faultsOf({ path: '/a', headers })).toEqual([
      { at: '/headers/k120', message: 'must be a text that fits ^[\\t\\x20-\\x7e\\x80-\\xff]*$' },
    ]);
  });

  it.each(['\n', 'a\nb', '\u2028'])('looks at a query parameter whatever its name: %j', (name) => {
    expect(faultsOf({ path: '/a', query: { [name]: { toString: 1, valueOf: 1 } } })).not.toEqual([]);
  });

  it.each(['query', 'headers'])('refuses names of more than 200 characters in %s', (field) => {
    expect(faultsOf({ path: '/a', [field]: { ['n'.repeat(201)]: 'a' } })).toEqual([
      { at: `/${field}`, message: 'has a name longer than 200' },
    ]);
  });

  it.each(['body', 'context'])('refuses a %s that nests deeper than JSON can be written', (field) => {
    const nested = (levels: number): unknown => JSON.parse(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`);

    expect(faultsOf({ path: '/a', [field]: nested(499) })).toEqual([]);
    expect(faultsOf({ path: '/a', [field]: nested(500) })).toEqual([
      { at: `/${field}`, message: 'nests more than 500 levels deep' },
    ]);
    expect(faultsOf({ path: '/a', [field]: nested(100_000) })).toHaveLength(1);
  });

  it('refuses base64 that is none, and takes what encoders write', () => {
    const part = (base64: string) => faultsOf({ path: '/a', multipart: [{ name: 'f', base64 }] });

    for (const good of ['', 'aGk=', 'aGk', 'aGlo\r\naGlo', '_-8=']) expect(part(good)).toEqual([]);
    for (const bad of ['!!!', 'a', 'aGk=aGk=', 'data:text/plain;base64,aGk=']) {
      expect(part(bad)).toEqual([{ at: '/multipart/0/base64', message: 'is not base64' }]);
    }
  });

  it.each(['/a//b', '//host', '/a/'.concat('/')])('refuses empty segments: %s', (path) => {
    expect(faultsOf({ path }).map(({ at }) => at)).toEqual(['/path']);
  });

  it.each(['x-retry-count', 'X-Retry-Count', 'AUTHORIZATION'])('refuses %s, which Larkspur sets', (name) => {
    expect(faultsOf({ path: '/a', headers: { [name]: '9' } }).map(({ at }) => at)).toEqual([`/headers/${name}`]);
  });

  it('treats __proto__ as an unknown field', () => {
    expect(faultsOf(JSON.parse('{"path":"/a","__proto__":{"x":1}}'))).toEqual([
      expect.objectContaining({ at: '/__proto__' }),
    ]);
  });

  it('has an answer for any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const check = checkCall(value);
        return check.ok || check.faults.every(({ at, message }) => (at === '' || at.startsWith('/')) && message !== '');
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('isDateTime', () => {
  it.each([
    '2026-01-31T12:00:00Z',
    '2024-02-29t00:00:00.123456789+08:00',
    '2026-12-31T23:59:59Z',
    '2000-02-29T00:00:00-23:59',
  ])('takes %s', (text) => {
    expect(isDateTime(text)).toBe(true);
    expect(Date.parse(text)).not.toBeNaN();
  });

  it.each([
    '',
    '2026-01-31',
    '2026-01-31T12:00:00',
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01 00:00:00Z',
  ])('refuses "%s"', (text) => {
    expect(isDateTime(text)).toBe(false);
  });
});
