import { describe, expect, it } from 'vitest';

import { LarkspurError } from '../../../../src/model/errors.ts';

import { logged } from './logged.ts';

const feishuTokens = [
  't-g1044ghJRUIJJ5ELPNRNFFTWFKJabcd',
  'u-5Dak9ZAxJ9tFUn8MaTD_BFM51FNdg5xzO0y010000HWb',
  'a-onlyLettersInThisOneButLong',
];

describe('createLogger', () => {
  it('writes one JSON line with ISO time, level by name, fields and message', () => {
    const { lines } = logged((log) => log.child({ role: 'worker' }).info({ partition: 3, waitedMs: 1.5 }, 'resumed'));

    expect(lines).toEqual([
      expect.objectContaining({ level: 'info', role: 'worker', partition: 3, waitedMs: 1.5, msg: 'resumed' }),
    ]);
    expect(lines[0]?.['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('says nothing below its level, and reads no field for it', () => {
    const { text } = logged(
      (log) =>
        log.debug(
          {
            get costly(): never {
              throw new Error('read');
            },
          },
          'quiet',
        ),
      { level: 'info' },
    );

    expect(text).toBe('');
  });

  it.each([
    'authorization',
    'Authorization',
    'token',
    'accessToken',
    'access_token',
    'appSecret',
    'APP_SECRET',
    'password',
    'encryptKey',
    'encrypt-key',
    'verificationToken',
    'cookie',
    'Set-Cookie',
    'refresh_token',
    'x-api-key',
    'app_ticket',
  ])('masks the value of a field named %s at any depth', (name) => {
    const { text } = logged((log) => {
      log.info({ [name]: 'hush' }, 'flat');
      log.info({ a: { b: [{ c: { [name]: 'hush' } }] } }, 'nested');
      log.info({ [name]: { inner: ['hush'] } }, 'a whole object');
      log.info({ headers: [[name, 'hush']], rawHeaders: ['accept', 'any', name, 'hush'] }, 'lists of headers');
      log.info({ headers: new Map([[name, 'hush']]) }, 'a map');
      log.child({ [name]: 'hush' }).info({}, 'bound');
      log.child({ a: { [name]: 'hush' } }).info({}, 'bound and nested');
    });

    expect(text.split('\n')).toHaveLength(8);
    expect(text).not.toContain('hush');
  });

  it.each([
    ['a tenant token', feishuTokens[0]],
    ['a user token', feishuTokens[1]],
    ['an app token', feishuTokens[2]],
    ['a JWT', 'eyJhbGciOiJFUzI1NiJ9.eyJqdGkiOiI3MDE.c2lnbmF0dXJl'],
  ])('masks %s in messages, fields, lists and errors', (_, token = '') => {
    const { text } = logged((log) => {
      log.warn({ note: `got ${token}.`, list: [`<${token}>`] }, `sent with Bearer ${token}`);
      log.error({ error: new Error(`refused ${token}`, { cause: new Error(`because ${token}`) }) }, 'failed');
      log.info({ [token]: 1 }, 'as a name');
    });

    expect(text).not.toContain(token);
    expect(text).not.toContain(token.slice(4, 20));
  });

  it.each([
    'https://open.feishu.cn/x?access_token=hush1hush&page=2',
    'https://open.feishu.cn/x?page=2&app_access_token=hush1hush',
    'redis://:hush1hush@redis:6379',
    'https://user:hush1hush@host/path',
    'authorization: hush1hush hush1hush',
    '{"app_secret":"hush1hush"}',
    '{\\"tenant_access_token\\": \\"hush1hush\\"}',
    "{ encryptKey: 'hush1hush' }",
    'password=hush1hush',
    'password: hush1hush',
    'Cookie: a=hush1hush; b=hush1hush',
    'Proxy-Authorization: Basic hush1hush==',
    '/open-apis/bot/v2/hook/hush1hush-0b1c-4d2e',
    'https://www.feishu.cn/flow/api/trigger-webhook/hush1hush',
  ])('masks the secret in the text %s', (text) => {
    const written = logged((log) => {
      log.info({ text, url: text.startsWith('http') ? new URL(text) : undefined }, text);
      log.error({ error: new TypeError(text) }, 'failed');
    });

    expect(written.text).not.toContain('hush');
    expect(written.text).toContain('[redacted]');
  });

  it.each([
    'token refused: app stopped',
    'cannot get a tenant token: app cli_a1 is stopped',
    'worker-a-1 took partition 3',
    'secret is missing',
    'tokens: 12',
  ])('leaves the plain words "%s" as they are', (text) => {
    expect(logged((log) => log.info({}, text)).lines[0]?.['msg']).toBe(text);
  });

  it('keeps figures and switches whose names speak of secrets', () => {
    const { lines } = logged((log) =>
      log.info({ tokenWaitMs: 12, tokenCount: 2, hasToken: true, token: undefined }, 'x'),
    );

    expect(lines[0]).toMatchObject({ tokenWaitMs: 12, tokenCount: 2, hasToken: true });
  });

  it('masks the configured secrets wherever they stand, whatever they look like', () => {
    const { text } = logged((log) => log.info({ url: '/hook/plainword/x' }, 'plainword in prose'), {
      secrets: ['plainword'],
    });

    expect(text).not.toContain('plainword');
  });

  it('writes errors with type, code, cure and causes, without the objects that drivers hang on them', () => {
    const cause = Object.assign(new Error('WRONGPASS'), {
      command: { name: 'auth', args: ['default', 'hush'] },
      errno: -1,
    });
    const error = new LarkspurError('redis_unavailable', 'Redis is away', { cure: 'Start it.', cause });
    const { lines, text } = logged((log) => log.error({ error }, 'lost'));

    expect(lines[0]?.['error']).toMatchObject({
      type: 'LarkspurError',
      code: 'redis_unavailable',
      cure: 'Start it.',
      message: 'Redis is away',
      cause: { message: 'WRONGPASS', errno: -1 },
    });
    expect(text).not.toContain('hush');
  });

  it('lists the errors of an aggregate', () => {
    const error = new AggregateError([new Error('first'), new Error('access_token=hush')], 'all failed');
    const { lines, text } = logged((log) => log.error({ error }, 'x'));

    expect(lines[0]?.['error']).toMatchObject({
      errors: [{ message: 'first' }, { message: 'access_token=[redacted]' }],
    });
    expect(text).not.toContain('hush');
  });

  it('survives cycles, depth, throwing getters, long texts, bytes and odd values', () => {
    const cycle: Record<string, unknown> = {
      big: 12n,
      bytes: Buffer.from('hush'),
      when: new Date(0),
      bad: new Date(Number.NaN),
    };
    cycle['self'] = cycle;
    let deep: Record<string, unknown> = { token: 'hush' };
    for (let n = 0; n < 50; n++) deep = { deep };
    const { lines, text } = logged((log) =>
      log.info(
        {
          cycle,
          deep,
          long: 'x'.repeat(100_000),
          set: new Set(['a']),
          run: () => 1,
          get broken(): never {
            throw new Error('hush');
          },
        },
        'odd',
      ),
    );

    expect(lines[0]).toMatchObject({
      cycle: { self: '[circular]', big: '12', bytes: '[4 bytes]', when: '1970-01-01T00:00:00.000Z', bad: null },
    });
    expect(text.length).toBeLessThan(20_000);
    expect(text).not.toContain('hush');
  });
});
