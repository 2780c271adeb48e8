import { describe, expect, it } from 'vitest';

import type { TokenReply } from '../../../../src/ports/token-source.ts';

import { answered } from './answers.ts';
import { house, issued, need, secret, token } from './token-house.ts';

describe('FeishuTokens', () => {
  it('asks once for a hundred callers, then answers from memory synchronously', () => {
    const { asked, answer, get } = house();
    const waiting = Array.from({ length: 100 }, () => get());
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ method: 'POST', path: '/open-apis/auth/v3/tenant_access_token/internal' });
    expect(JSON.parse(asked[0]?.body?.toString() ?? '')).toEqual({ app_id: 'cli_a', app_secret: secret });
    answer(issued('t-1'));
    for (const replies of waiting) expect(replies).toEqual([token('t-1', 1)]);
    expect(get()).toEqual([token('t-1', 1)]);
    expect(asked).toHaveLength(1);
  });

  it('P23: never mixes two apps, nor tenant and app tokens', () => {
    const { answer, asked, get } = house();
    const a = get();
    const b = get({ ...need, app: 'cli_b' });
    const app = get({ ...need, as: 'app' });
    answer(issued('t-a'));
    answer(issued('t-b'));
    answer(issued('t-c'));
    expect([a, b, app]).toEqual([[token('t-a', 1)], [token('t-b', 2)], [token('a-t-c', 3)]]);
    expect(asked[2]?.path).toBe('/open-apis/auth/v3/app_access_token/internal');
  });

  it('refreshes ahead and serves the old token meanwhile', () => {
    const { time, asked, answer, get } = house();
    get();
    answer(issued('t-1'));
    time.advance((7_200 - 29 * 60) * 1_000 - 1);
    get();
    expect(asked).toHaveLength(1);
    time.advance(1);
    expect(get()).toEqual([token('t-1', 1)]);
    expect(get()).toEqual([token('t-1', 1)]);
    expect(asked).toHaveLength(2);
    answer(issued('t-2'));
    expect(get()).toEqual([token('t-2', 2)]);
  });

  it('goes on with the old token while refreshing fails, until 3 minutes remain', () => {
    const { time, asked, answer, get } = house();
    get();
    answer(issued('t-1'));
    time.advance(6_000_000);
    expect(get()).toEqual([token('t-1', 1)]);
    answer(answered(503, ''));
    expect(get()).toEqual([token('t-1', 1)]);
    expect(asked).toHaveLength(2);
    time.advance(1_000);
    get();
    expect(asked).toHaveLength(3);
    answer(answered(503, ''));
    time.advance(1_019_001);
    const waiting = get();
    expect(waiting).toEqual([]);
    answer(issued('t-2'));
    expect(waiting).toEqual([token('t-2', 2)]);
  });

  it('reads lifetimes and never assumes them', () => {
    const { time, asked, answer, get } = house();
    get();
    answer(issued('t-1', 60));
    time.advance(53_000);
    expect(get()).toEqual([token('t-1', 1)]);
    answer(answered(503, ''));
    time.advance(2_000);
    expect(get()).toEqual([]);
    expect(asked.length).toBeGreaterThan(1);
  });

  it('P23, F15: a hundred rejections of one version cause one refresh', () => {
    const { tokens, asked, answer, get } = house();
    get();
    answer(issued('t-old'));
    for (let i = 0; i < 100; i++) tokens.reject(need, 1);
    const waiting = Array.from({ length: 100 }, () => get());
    expect(asked).toHaveLength(2);
    answer(issued('t-new'));
    for (const replies of waiting) expect(replies).toEqual([token('t-new', 2)]);
    tokens.reject(need, 1);
    expect(get()).toEqual([token('t-new', 2)]);
    expect(asked).toHaveLength(2);
  });

  it('F16: serves a token that the platform stands by under its old version, and asks less and less about it', () => {
    const { time, tokens, asked, answer, get } = house();
    get();
    answer(issued('t-old'));
    const rejectAndGet = (): TokenReply[] => {
      tokens.reject(need, 1);
      const replies = get();
      answer(issued('t-old'));
      return replies;
    };
    expect(rejectAndGet()).toEqual([token('t-old', 1)]);
    expect(asked).toHaveLength(2);
    for (let i = 0; i < 50; i++) expect(rejectAndGet()).toEqual([token('t-old', 1)]);
    expect(asked).toHaveLength(2);
    time.advance(1_000);
    rejectAndGet();
    expect(asked).toHaveLength(3);
    time.advance(1_000);
    rejectAndGet();
    expect(asked).toHaveLength(3);
    time.advance(1_000);
    rejectAndGet();
    expect(asked).toHaveLength(4);
  });
});
