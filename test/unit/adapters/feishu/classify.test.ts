import { describe, expect, it } from 'vitest';

import { codeCatalogue } from '../../../../src/adapters/feishu/catalogue/codes.ts';
import { classifyFeishu } from '../../../../src/adapters/feishu/classify.ts';
import type { Exchange, OutcomeClass } from '../../../../src/model/outcome.ts';
import type { Repeat } from '../../../../src/ports/profile.ts';

import { answered, planFor, planned } from './answers.ts';

const wallMs = Date.UTC(2026, 0, 15, 12);
const judge = (exchange: Exchange, service = 'im', repeat?: Repeat) =>
  classifyFeishu(exchange, planFor(service, repeat), wallMs);
const code = (number: number, status = 400, service = 'im', msg = 'text') =>
  judge(answered(status, { code: number, msg }), service);

describe('classifyFeishu over the whole code catalogue', () => {
  it('gives every code at every status it comes with the class of its table, its exceptions first', () => {
    let cells = 0;
    for (const entry of codeCatalogue().values()) {
      for (const status of entry.statuses.length > 0 ? entry.statuses : [400]) {
        for (const service of entry.services.length > 0 ? entry.services : ['im']) {
          const exception = entry.exceptions.find(
            ({ when }) =>
              ('status' in when && when.status === status) || ('service' in when && when.service === service),
          );
          const { class: expected, kind, effect } = exception ?? entry;
          const cell = `${entry.code} at ${status} in ${service}`;
          const verdict = code(entry.code, status, service);
          // 504 says nothing about the outcome, whatever else the body says.
          const unknown = status === 504 && expected === 'retryable' && effect === 'unknown';
          expect([cell, verdict.class, verdict.kind]).toEqual([cell, unknown ? 'ambiguous' : expected, kind]);
          expect([cell, verdict.code, verdict.status]).toEqual([cell, entry.code, status]);
          const never = judge(answered(status, { code: entry.code, msg: 'text' }), service, { kind: 'never' });
          const mayHaveActed = expected === 'retryable' && effect !== 'none';
          expect([cell, never.class]).toEqual([cell, mayHaveActed ? 'ambiguous' : expected]);
          cells++;
        }
      }
    }
    expect(cells).toBeGreaterThan(2_803);
  });

  it('builds no request anew to judge an answer, whose body may be a file', () => {
    const plan = { ...planFor('im'), request: () => expect.fail('the request was built again') };
    expect(classifyFeishu(answered(200), plan, wallMs).class).toBe('success');
    expect(classifyFeishu(answered(400, { code: 99_991_400, msg: 'text' }), plan, wallMs).class).toBe('rate-limited');
  });

  it('obeys every exception that goes by the text', () => {
    for (const entry of codeCatalogue().values()) {
      for (const exception of entry.exceptions) {
        if (!('text' in exception.when)) continue;
        const verdict = code(
          entry.code,
          entry.statuses[0],
          entry.services[0],
          `Sorry: ${exception.when.text.toUpperCase()}!`,
        );
        expect([entry.code, verdict.class]).toEqual([entry.code, exception.class]);
      }
    }
  });
});

describe('classifyFeishu where the status misleads', () => {
  it.each<[string, OutcomeClass, number, readonly number[], string]>([
    [
      '400, retryable',
      'retryable',
      400,
      [1254036, 1254607, 1310235, 131001, 131009, 1395001, 300120, 1770036, 44025],
      'im',
    ],
    ['400, limited', 'rate-limited', 400, [99991400, 230020, 230047, 230048, 232019, 1310217, 1470450, 1061045], 'im'],
    ['200, retryable', 'retryable', 200, [1254291, 1255001, 1255002, 1255005], 'bitable'],
    ['200, limited', 'rate-limited', 200, [1254290, 11232], 'bot'],
    ['500, permanent', 'permanent', 500, [1160104, 1160105, 1160601, 121011, 121020, 122601, 1782002, 2889925], 'vc'],
    ['504, permanent', 'permanent', 504, [41031, 41032], 'contact'],
    ['429, quota', 'quota', 429, [99991403, 1063006, 1236007, 1236008, 1236009, 1236012, 1236013], 'mail'],
    ['401, no token problem', 'permanent', 401, [154401, 154404, 43000, 40016], 'helpdesk'],
    ['202, not ready', 'retryable', 202, [1062004, 1062006], 'drive'],
    ['200, consent', 'auth', 200, [20007], 'authen'],
    ['200, token', 'auth', 200, [99991663, 99991664, 99991668, 99991677], 'im'],
    ['400, token', 'auth', 400, [99991663, 99991664, 99991668, 99991677], 'im'],
    ['200, credentials', 'auth', 200, [10014, 10015], 'auth'],
    ['400, done before', 'duplicate', 400, [60012, 200770], 'approval'],
  ])('%s: %s', (_, expected, status, codes, service) => {
    const classes = codes.map((number) => [number, code(number, status, service).class]);
    expect(classes).toEqual(codes.map((number) => [number, expected]));
  });

  it('tells the rate limit of a custom bot from a bad parameter by its text', () => {
    expect(code(9499, 400, 'bot', 'too many request')).toMatchObject({ class: 'rate-limited' });
    expect(code(9499, 400, 'bot', 'Bad Request')).toMatchObject({ class: 'permanent' });
  });

  it('S000-14: takes 200 with code 0 for success and 200 with 99991663 for a stale token', () => {
    expect(judge(answered(200))).toMatchObject({
      class: 'success',
      kind: 'ok',
      code: 0,
      askedMs: 0,
      errorType: 'none',
    });
    expect(code(99991663, 200)).toMatchObject({ class: 'auth', kind: 'token', errorType: 'token_rejected' });
  });

  it('takes an unknown code with 200 for a failure that no repeat mends', () => {
    expect(code(987_654_321, 200)).toMatchObject({ class: 'permanent', kind: 'invalid', code: 987_654_321 });
    expect(code(-1, 200)).toMatchObject({ class: 'permanent', kind: 'invalid' });
  });

  it.each([401, 403, 404, 409, 429, 503])('lets the status %i decide on a code that nobody knows', (status) => {
    expect(code(987_654_321, status)).toMatchObject({
      ...judge(answered(status, '')),
      code: 987_654_321,
      message: expect.anything() as string,
    });
  });
});

describe('classifyFeishu without a code', () => {
  it.each<[number, OutcomeClass, string]>([
    [301, 'permanent', 'invalid'],
    [400, 'permanent', 'invalid'],
    [401, 'auth', 'token'],
    [403, 'permanent', 'permission'],
    [404, 'permanent', 'gone'],
    [405, 'permanent', 'invalid'],
    [408, 'retryable', 'timeout'],
    [409, 'retryable', 'conflict'],
    [410, 'permanent', 'gone'],
    [425, 'retryable', 'timeout'],
    [429, 'rate-limited', 'rate'],
    [500, 'retryable', 'internal'],
    [502, 'retryable', 'internal'],
    [503, 'retryable', 'internal'],
    [504, 'ambiguous', 'timeout'],
    [599, 'retryable', 'internal'],
  ])('S000-11, S000-76: status %i with an empty body is %s (%s)', (status, expected, kind) => {
    expect(judge(answered(status, ''))).toMatchObject({ class: expected, kind, status });
    expect(judge(answered(status, '<html><h1>gateway</h1></html>'))).toMatchObject({ class: expected, kind });
  });

  it.each(['', '<html></html>', '[]', '{}', '{"code":"no"}', '{"code":0', 'null', '7'])(
    'a 200 with the body %o is no success but a broken gateway',
    (body) => {
      expect(judge(answered(200, body))).toMatchObject({ class: 'retryable', kind: 'internal' });
      expect(judge(answered(200, body), 'im', { kind: 'never' })).toMatchObject({ class: 'ambiguous' });
    },
  );

  it('a code 0 beside an error status is no success', () => {
    expect(judge(answered(502))).toMatchObject({ class: 'retryable' });
    expect(judge(answered(403))).toMatchObject({ class: 'permanent', kind: 'permission' });
  });

  it('takes a file for success where a file was asked for, and a code in its place for a failure', () => {
    const plan = planned({ path: '/open-apis/im/v1/messages/om_1/resources/file_1', query: { type: 'file' } });
    const file = answered(200, Buffer.from([0x89, 0x50, 0, 1]), { 'content-type': 'image/png' });
    expect(classifyFeishu(file, plan, wallMs)).toMatchObject({ class: 'success' });
    expect(classifyFeishu(answered(200, { code: 234002, msg: 'x' }), plan, wallMs)).toMatchObject({ class: 'auth' });
    expect(judge(file)).toMatchObject({ class: 'retryable' });
    expect(judge(answered(200, 'a,b', { 'content-disposition': 'attachment; filename=a.csv' }))).toMatchObject({
      class: 'success',
    });
  });

  it('reads flat token answers, custom bots and OAuth', () => {
    const flat = { code: 0, msg: 'ok', tenant_access_token: 't-1', expire: 7200 };
    expect(judge(answered(200, flat), 'auth')).toMatchObject({ class: 'success' });
    const bot = { StatusCode: 0, StatusMessage: 'success', code: 0, data: {}, msg: 'success' };
    expect(judge(answered(200, bot), 'bot')).toMatchObject({ class: 'success' });
    expect(judge(answered(200, { StatusCode: 11232, StatusMessage: 'x' }), 'bot')).toMatchObject({
      class: 'rate-limited',
    });
    expect(judge(answered(200, { ...bot, StatusCode: 19024 }), 'bot')).toMatchObject({
      class: 'permanent',
      code: 19024,
    });
    expect(judge(answered(400, { error: 'invalid_grant' }), 'oauth')).toMatchObject({ class: 'auth', kind: 'consent' });
    // A code that nobody knows leaves it to the word.
    expect(judge(answered(400, { code: 20_999, error: 'invalid_grant' }), 'oauth')).toMatchObject({ kind: 'consent' });
    expect(judge(answered(400, { error: 'invalid_request' }), 'oauth')).toMatchObject({ class: 'permanent' });
  });
});
