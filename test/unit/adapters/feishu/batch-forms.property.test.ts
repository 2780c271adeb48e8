import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { batchFormOf } from '../../../../src/adapters/feishu/batch-forms.ts';
import type { Call } from '../../../../src/model/call.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import { answersOf } from '../../../../src/pipeline/crew.ts';
import type { BatchForm } from '../../../../src/ports/profile.ts';

const label = 'GET /open-apis/contact/v3/users/:user_id';

function formOf(id: string, query?: Call['query'], more: Partial<Call> = {}): BatchForm | undefined {
  const path = `/open-apis/contact/v3/users/${encodeURIComponent(id)}`;
  const call = { id: 'c', method: 'GET', path, ...(query === undefined ? {} : { query }), ...more } as Call;
  const params = { user_id: encodeURIComponent(id) };
  return batchFormOf({ call, label, params, prefix: '', who: 'app', limitKey: 'k' });
}

const answered = (body: unknown): Exchange => ({
  kind: 'answered',
  status: 200,
  headers: { 'x-tt-logid': 'log-1' },
  body: Buffer.from(JSON.stringify(body)),
});

const anyId = fc.stringMatching(/^o[un]_[a-z0-9]{1,6}$/);
const user = (id: string) => ({ open_id: id, name: `User ${id}` });

type Split = BatchForm['split'];

/** What a split must keep to: to each its own user, in whatever order they come; nobody gets another's, or what is not there. */
function holds(split: Split): void {
  const asked = fc.array(anyId, { minLength: 1, maxLength: 60, size: 'max' });
  const world = fc.record({
    asked,
    hidden: fc.array(fc.nat(), { maxLength: 20 }),
    seed: fc.nat(),
    strange: fc.jsonValue(),
  });
  fc.assert(
    fc.property(world, ({ asked: items, hidden, seed, strange }) => {
      const missing = new Set(hidden.map((n) => items[n % items.length]));
      const found = [...new Set(items)].filter((id) => !missing.has(id)).map(user);
      const turn = found.length === 0 ? 0 : seed % found.length;
      const mixed = [...found.slice(turn), strange, ...found.slice(0, turn)];
      const parts = split(answered({ code: 0, data: { items: mixed } }), items);
      expect(parts).toHaveLength(items.length);
      for (const [index, item] of items.entries()) {
        const part = parts[index];
        if (missing.has(item)) expect(part).toBeUndefined();
        else {
          expect(part).toMatchObject({ kind: 'answered', status: 200, headers: { 'x-tt-logid': 'log-1' } });
          const { body } = part as Extract<Exchange, { kind: 'answered' }>;
          expect(JSON.parse(String(body))).toEqual({ code: 0, msg: 'success', data: { user: user(item) } });
        }
      }
    }),
  );
}

describe('the answer for several users', () => {
  const real: Split = (exchange, items) => formOf('ou_1')?.split(exchange, items) ?? [];

  it('gives each call its own user, whatever order, repeats, gaps and strangers there are', () => {
    holds(real);
  });

  it.each<readonly [string, Split]>([
    ['goes by position', (exchange, items) => items.map((_, n) => real(exchange, [...items].sort())[n])],
    [
      'takes the first for who is missing',
      (exchange, items) => real(exchange, items).map((one, _, all) => one ?? all[0]),
    ],
    [
      'forgets repeats',
      (exchange, items) =>
        real(exchange, items).map((one, n) => (items.indexOf(items[n] ?? '') === n ? one : undefined)),
    ],
    ['passes the whole answer on', (exchange, items) => items.map(() => exchange)],
  ])('(a split that %s is found out)', (_what, mutant) => {
    expect(() => {
      holds(mutant);
    }).toThrow();
  });

  it('that is no such answer tells of nobody, and a user that comes twice is not told apart', () => {
    const anyBody = fc.oneof(
      fc.json().map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 100, size: 'max' }).map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(anyBody, (body) => {
        expect(real({ kind: 'answered', status: 200, headers: {}, body }, ['ou_1'])).toEqual([undefined]);
      }),
    );
    const twice = { code: 0, data: { items: [user('ou_1'), { ...user('ou_1'), name: 'other' }, user('ou_2')] } };
    expect(real(answered(twice), ['ou_1', 'ou_2']).map((part) => part !== undefined)).toEqual([false, true]);
  });

  it('is told apart by the kind of id that was asked for', () => {
    const form = formOf('on_1', { user_id_type: 'union_id' });
    const body = {
      code: 0,
      data: {
        items: [
          { open_id: 'on_2', union_id: 'on_1' },
          { open_id: 'on_1', union_id: 'on_9' },
        ],
      },
    };
    const [one, two] = form?.split(answered(body), ['on_1', 'on_2']) ?? [];
    expect(String(one?.kind === 'answered' ? one.body : '')).toContain('"union_id":"on_1"');
    expect(two).toBeUndefined();
  });
});

describe('a request for several', () => {
  it('names each user once, the kind of their ids, and what they ask beside', () => {
    const form = formOf('ou_1', { department_id_type: 'open_department_id' });
    expect(form?.compose(['ou_1', 'ou_2', 'ou_1', 'ä b'])).toEqual({
      method: 'GET',
      path: '/open-apis/contact/v3/users/batch?user_ids=ou_1&user_ids=ou_2&user_ids=%C3%A4%20b&user_id_type=open_id&department_id_type=open_department_id',
      headers: {},
      body: undefined,
    });
    expect(form?.most).toBe(50);
  });

  it('is only for calls that differ in nothing but the user', () => {
    const shape = (query?: Call['query']) => formOf('ou_1', query)?.shape;
    expect(shape({ user_id_type: 'open_id' })).toBe(shape());
    expect(
      new Set([shape(), shape({ user_id_type: 'user_id' }), shape({ department_id_type: 'department_id' })]).size,
    ).toBe(3);
    expect(formOf('ou_1', { page: '1' })).toBeUndefined();
    expect(formOf('ou_1', { user_id_type: ['open_id', 'user_id'] })).toBeUndefined();
    expect(formOf('ou_1', undefined, { headers: { 'x-a': '1' } })).toBeUndefined();
    expect(formOf('ou_1', undefined, { body: {} })).toBeUndefined();
    expect(formOf('')).toBeUndefined();
    expect(formOf('x'.repeat(101))).toBeUndefined();
  });
});

describe('what each call of a request was answered', () => {
  const form = { split: (_: Exchange, items: readonly string[]) => items.map(() => undefined) };
  const exchange = answered({});
  const answers = (kind: string, of: string) =>
    answersOf(exchange, { class: of, kind } as Parameters<typeof answersOf>[1], form, ['a', 'b']);

  it.each([
    ['retryable', 'internal'],
    ['ambiguous', 'timeout'],
    ['rate-limited', 'rate'],
    ['quota', 'quota'],
    ['auth', 'token'],
  ])('is the same for all where it failed as a whole: %s, %s', (of, kind) => {
    expect(answers(kind, of)).toEqual([exchange, exchange]);
  });

  it.each([
    ['permanent', 'invalid'],
    ['permanent', 'gone'],
    ['auth', 'consent'],
    ['auth', 'permission'],
  ])('is nobody’s where it may mean only one of them: %s, %s', (of, kind) => {
    expect(answers(kind, of)).toEqual([undefined, undefined]);
  });
});
