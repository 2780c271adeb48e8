import { tap } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { userKey } from '../../../../src/adapters/feishu/user-tokens.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import type { TokenNeed } from '../../../../src/ports/token-source.ts';
import { collect } from '../../../support/collect.ts';

import { answered } from './answers.ts';
import { type Answering, fleet, valueOf } from './shared-platform.ts';

const apps = [{ id: 'cli_a', secret: 'very-secret' }];
const as = (user: string): TokenNeed => ({ app: 'cli_a', tenant: undefined, as: { user } });
const pair = (access: string, refresh: string) =>
  answered(200, {
    ...{ code: 0, access_token: access, expires_in: 7_200 },
    ...{ refresh_token: refresh, refresh_token_expires_in: 604_800 },
  });
const failure = (code: number, error: string, status = 400) =>
  answered(status, { code, error, error_description: 'no' });
const lost: Exchange = { kind: 'failed', failure: 'reset', sent: true, message: 'reset' };

/** A fleet whose users have consented: `u` with the refresh token r1 and an access token that is about to end. */
function consented(answer: Answering, users = ['u']) {
  const world = fleet(answer, apps);
  for (const user of users) {
    const kept = { access: `u-old-${user}`, accessEndsAtMs: world.time.wall() + 60_000, refresh: `r1-${user}` };
    const text = JSON.stringify({ ...kept, refreshEndsAtMs: world.time.wall() + 604_800_000 });
    world.vault.write(userKey('cli_a', user), text, 0, 1e12).subscribe();
  }
  const entry = (user = 'u') => {
    const [found] = collect(world.vault.read(userKey('cli_a', user))).values;
    return JSON.parse(found?.text ?? '') as Record<string, unknown>;
  };
  return { ...world, entry };
}

const many = Array.from({ length: 10_050 }, (_, n) => ({ id: `cli_${n}`, secret: 's' }));
const issued = (value: string) => answered(200, { code: 0, msg: 'ok', tenant_access_token: value, expire: 7_200 });

describe('tokens of users', () => {
  it('F17: two processes that need a token of one user refresh once in all, and both get the new one', () => {
    const used: string[] = [];
    const world = consented((_, { refresh_token = '' }) => {
      used.push(refresh_token);
      return used.length === 1 ? pair('u-new', 'r2') : failure(20_064, 'invalid_grant');
    });
    const replies = [world.process(), world.process()].map((tokens) => world.get(tokens, as('u')));
    world.time.advance(2_000);

    expect(replies.map(valueOf)).toEqual(['u-new', 'u-new']);
    expect(used).toEqual(['r1-u']);
    expect(world.entry()).toMatchObject({ access: 'u-new', refresh: 'r2' });
    expect(world.revoked).toEqual([]);
  });

  it('the new pair is kept before anybody gets its token', () => {
    const world = consented(() => pair('u-new', 'r2'));
    let keptWhenGiven: unknown;
    const given$ = world
      .process()
      .get(as('u'))
      .pipe(tap(() => (keptWhenGiven = world.entry()['refresh'])));
    collect(given$);
    world.time.advance(1_000);
    expect(keptWhenGiven).toBe('r2');
  });

  it('F18: a failure of the platform keeps the refresh token, which is tried again', () => {
    let failures = 2;
    const world = consented(() => (failures-- > 0 ? failure(20_050, 'server_error', 500) : pair('u-new', 'r2')));
    const tokens = world.process();
    const replies = [0, 1, 2, 3].map(() => {
      const got = world.get(tokens, as('u'));
      world.time.advance(5_000);
      return valueOf(got);
    });

    expect(replies[0]).toBe('unavailable');
    expect(replies.at(-1)).toBe('u-new');
    expect(world.asked.map(({ body }) => body['refresh_token'])).toEqual(['r1-u', 'r1-u', 'r1-u']);
  });

  it('S000-08: a consent that was taken back costs one question, is told once, and stops nobody else', () => {
    const world = consented(
      (_, { refresh_token = '' }) =>
        refresh_token === 'r1-u' ? failure(20_037, 'invalid_grant') : pair('u-other', 'r2'),
      ['u', 'v'],
    );
    const processes = [world.process(), world.process()];
    for (let second = 0; second < 120; second++) {
      for (const tokens of processes) world.get(tokens, as('u'));
      world.time.advance(1_000);
    }
    const [refused] = world.get(processes[0]!, as('u'));
    const other = world.get(processes[1]!, as('v'));
    world.time.advance(1_000);

    expect(refused).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('/oauth/cli_a/start') as unknown,
    });
    expect(valueOf(other)).toBe('u-other');
    expect(world.asked.filter(({ body }) => body['refresh_token'] === 'r1-u')).toHaveLength(1);
    expect(world.revoked).toEqual(['cli_a u invalid_grant']);
  });

  it.each([
    [20_021, 'resigned'],
    [20_022, 'frozen'],
    [20_010, 'may not use the app'],
    [20_001, 'bad request'],
    [20_002, 'wrong secret'],
  ])(
    'code %i (%s) refuses whoever needs the token, instead of letting calls wait, and keeps the refresh token',
    (code) => {
      const world = consented(() => failure(code, 'invalid_request'));
      const replies = world.get(world.process(), as('u'));
      world.time.advance(1_000);

      expect(replies).toMatchObject([{ kind: 'refused', message: expect.stringContaining(`code ${code}`) as unknown }]);
      expect(world.entry()).toMatchObject({ refresh: 'r1-u' });
      expect(world.revoked).toEqual([]);
    },
  );

  it('a refused rate is waited for as long as the platform asks', () => {
    const world = consented(() =>
      answered(429, { code: 99_991_400, msg: 'slow down' }, { 'x-ogw-ratelimit-reset': '52' }),
    );
    const replies = world.get(world.process(), as('u'));
    world.time.advance(1_000);

    expect(replies).toMatchObject([{ kind: 'unavailable' }]);
    expect(replies[0]?.kind === 'unavailable' && replies[0].waitMs).toBeGreaterThan(50_000);
  });

  it.each([403, 407, 429])('a page of a proxy that refuses (HTTP %i) ends no consent', (status) => {
    let refusals = 1;
    const world = consented(() => (refusals-- > 0 ? answered(status, 'blocked') : pair('u-new', 'r2')));
    const tokens = world.process();
    const refused = world.get(tokens, as('u'));
    world.time.advance(60_000);
    const later = world.get(tokens, as('u'));
    world.time.advance(1_000);

    expect(refused).toMatchObject([
      { kind: 'unavailable', message: expect.stringContaining(`HTTP ${status}`) as unknown },
    ]);
    expect([valueOf(later), world.revoked]).toEqual(['u-new', []]);
  });

  it('a refresh whose answer was lost is not tried again: nobody knows whether its token still serves', () => {
    const world = consented(() => lost);
    const tokens = world.process();
    const first = world.get(tokens, as('u'));
    world.time.advance(60_000);
    const second = world.get(tokens, as('u'));
    world.time.advance(1_000);

    expect([valueOf(first), valueOf(second)]).toEqual(['refused', 'refused']);
    expect(world.asked).toHaveLength(1);
    expect(world.revoked).toEqual(['cli_a u refresh_outcome_unknown']);
    expect(JSON.stringify(world.entry())).not.toContain('r1-u');
  });

  it('so is one whose process died in the middle of it', () => {
    const world = consented(() => pair('u-new', 'r2'));
    world.process().get(as('u')).subscribe().unsubscribe();
    const marked = { ...world.entry(), refreshingSinceMs: world.time.wall() - 31_000 };
    const [found] = collect(world.vault.read(userKey('cli_a', 'u'))).values;
    collect(world.vault.write(userKey('cli_a', 'u'), JSON.stringify(marked), found?.version ?? 0, 1e12));
    const replies = world.get(world.process(), as('u'));
    world.time.advance(1_000);
    expect(valueOf(replies)).toBe('refused');
  });

  it('the end of a consent is told by the next who needs the token, under the same name, when the process died over it', () => {
    const world = consented(() => failure(20_064, 'invalid_grant'));
    world.get(world.process(false), as('u'));
    world.time.advance(5_000);
    const atMs = world.time.wall() - 5_000 + 50;
    const survivor = world.process();
    world.get(survivor, as('u'));
    world.time.advance(1_000);
    expect(world.revoked).toEqual([]);

    for (let second = 0; second < 120; second++) {
      world.get(survivor, as('u'));
      world.time.advance(1_000);
    }
    expect(world.revoked).toEqual(['cli_a u invalid_grant']);
    expect(world.told).toEqual([{ atMs, again: true }]);
  });

  it('drops the tokens that nobody asked for the longest, and never takes the version of one for that of another', () => {
    const world = fleet((_, { app_id: app = '' }) => issued(`t-${app}`), many);
    const tokens = world.process();
    const of = (app: string): TokenNeed => ({ app, tenant: undefined, as: 'tenant' });
    for (const { id } of many) world.get(tokens, of(id));
    world.time.advance(1_000);
    expect(tokens.kept).toBe(10_000);

    const again = world.get(tokens, of('cli_0'));
    world.time.advance(1_000);
    const version = again[0]?.kind === 'token' ? again[0].token.version : 0;
    expect(version).toBeGreaterThan(10_000);
    const questions = world.asked.length;
    tokens.reject(of('cli_0'), 1);
    expect(valueOf(world.get(tokens, of('cli_0')))).toBe('t-cli_0');
    expect(world.asked).toHaveLength(questions);
  });

  it('who has not consented is told where', () => {
    const world = fleet(() => lost, apps);
    const replies = world.get(world.process(), as('nobody'));
    world.time.advance(10);
    expect(replies).toMatchObject([
      { kind: 'refused', message: expect.stringContaining('/oauth/cli_a/start') as unknown },
    ]);
    expect(world.asked).toEqual([]);
  });
});
