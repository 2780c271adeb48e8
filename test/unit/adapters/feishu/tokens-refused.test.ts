import { EMPTY, type Observable, of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { FeishuTokens } from '../../../../src/adapters/feishu/tokens.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import type { Metrics } from '../../../../src/ports/metrics.ts';
import type { TokenReply } from '../../../../src/ports/token-source.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

import { answered } from './answers.ts';
import { house, issued, need, secret, token } from './token-house.ts';

describe('FeishuTokens, when no token comes', () => {
  it.each([10_003, 10_014, 10_015, 99_991_543])(
    'refuses on %i at HTTP 200, without the secret in the message',
    (code) => {
      const { time, asked, answer, get } = house();
      const replies = get();
      answer(answered(200, { code, msg: `app secret ${secret} invalid` }));
      expect(replies).toMatchObject([{ kind: 'refused', message: expect.stringContaining(`code ${code}`) as string }]);
      expect(JSON.stringify(replies)).not.toContain(secret);
      expect(get()).toMatchObject([{ kind: 'refused' }]);
      expect(asked).toHaveLength(1);
      time.advance(1_000);
      get();
      expect(asked).toHaveLength(2);
    },
  );

  it('asks 1, 2, 4 ... 30 s apart while the endpoint fails, and says how long to wait', () => {
    const { time, asked, answer, get } = house();
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      const before = asked.length;
      const replies = get();
      expect(asked).toHaveLength(before + 1);
      answer(answered(502, '<html>'));
      expect(replies).toMatchObject([{ kind: 'unavailable', waitMs: pauseMs }]);
      time.advance(pauseMs - 1);
      expect(get()).toMatchObject([{ kind: 'unavailable', waitMs: 1 }]);
      time.advance(1);
    }
    get();
    answer(issued('t-1'));
    expect(get()).toEqual([token('t-1', 1)]);
  });

  it.each<[string, Exchange]>([
    ['a page in place of an answer', answered(200, '<html>')],
    ['a 403 of a proxy', answered(403, '<html>')],
    ['an answer without a token', answered(200, { code: 0, msg: 'ok' })],
    ['a token without life', issued('t-1', 0)],
    ['a bad certificate', { kind: 'failed', failure: 'certificate', sent: false, message: 'x' }],
    ['a time-out', { kind: 'failed', failure: 'attempt-timeout', sent: true, message: 'x' }],
  ])('waits on %s: it says nothing about the credentials', (_, exchange) => {
    const { answer, get } = house();
    const replies = get();
    answer(exchange);
    expect(replies).toMatchObject([{ kind: 'unavailable', waitMs: 1_000 }]);
  });

  it('waits as long as a rate limit of the token endpoint asks', () => {
    const { answer, get } = house();
    const replies = get();
    answer(answered(429, { code: 99_991_400, msg: 'x' }, { 'x-ogw-ratelimit-reset': '9' }));
    expect(replies).toMatchObject([{ kind: 'unavailable', waitMs: 9_000 }]);
  });

  it('who stops waiting leaves the question to the others', () => {
    const { tokens, asked, open, answer, get } = house();
    const gone: TokenReply[] = [];
    const subscription = tokens.get(need).subscribe({ next: (reply) => gone.push(reply), error: () => undefined });
    const stays = get();
    subscription.unsubscribe();
    expect(open).toHaveLength(1);
    answer(issued('t-1'));
    expect(gone).toEqual([]);
    expect(stays).toEqual([token('t-1', 1)]);
    expect(asked).toHaveLength(1);
  });

  it('is drained when no question is under way any more, also of those for which nobody waits', () => {
    const { tokens, answer, get } = house();
    const drained: string[] = [];
    const watch = (name: string) =>
      tokens
        .drained()
        .subscribe({ next: () => drained.push(name), error: (error: unknown) => expect.fail(String(error)) });
    watch('before');
    tokens
      .get(need)
      .subscribe({ error: () => undefined })
      .unsubscribe();
    get({ ...need, app: 'cli_b' });
    watch('under way');
    watch('gone').unsubscribe();
    answer(issued('t-1'));
    expect(drained).toEqual(['before']);
    answer(issued('t-2'));
    expect(drained).toEqual(['before', 'under way']);
  });

  it('says why users, store apps and unknown apps get no token, and asks nobody', () => {
    const { asked, get } = house();
    expect(get({ ...need, as: { user: 'ou_1' } })).toMatchObject([
      { kind: 'refused', message: expect.stringContaining('user') as string },
    ]);
    expect(get({ ...need, app: 'cli_s' })).toMatchObject([
      { kind: 'refused', message: expect.stringContaining('store app') as string },
    ]);
    expect(get({ ...need, app: 'cli_x' })).toMatchObject([{ kind: 'refused', message: 'app cli_x is not configured' }]);
    expect(asked).toHaveLength(0);
  });

  it('counts every question by its outcome', () => {
    const { time, counted, answer, get } = house();
    get();
    answer(answered(503, ''));
    time.advance(1_000);
    get();
    answer(issued('t-1'));
    expect(counted).toEqual(['unavailable', 'ok']);
  });

  it('an upstream that answers at once or not at all leaves nobody waiting', () => {
    const metrics: Metrics = {
      counter: () => ({ add: () => undefined }),
      histogram: () => ({ observe: () => undefined }),
      gauge: () => undefined,
    };
    const over = (exchange$: Observable<Exchange>): TokenReply[] => {
      const replies: TokenReply[] = [];
      const random = seededRandom(1);
      const apps = [{ id: 'cli_a', secret }];
      new FeishuTokens({
        ...{ apps, upstream: { send: () => exchange$ }, random, metrics },
        ...{ clock: new VirtualTime(), timers: new VirtualTime() },
      })
        .get(need)
        .subscribe({ next: (reply) => replies.push(reply), error: () => undefined });
      return replies;
    };
    expect(over(of(issued('t-1')))).toEqual([token('t-1', 1)]);
    expect(over(EMPTY)).toMatchObject([{ kind: 'unavailable', waitMs: 1_000 }]);
  });
});
