import { Observable, type Subscriber } from 'rxjs';
import { expect } from 'vitest';

import { FeishuTokens } from '../../../../src/adapters/feishu/tokens.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import type { Metrics } from '../../../../src/ports/metrics.ts';
import type { TokenNeed, TokenReply } from '../../../../src/ports/token-source.ts';
import type { Upstream, UpstreamRequest } from '../../../../src/ports/upstream.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

import { answered } from './answers.ts';

export const need: TokenNeed = { app: 'cli_a', tenant: undefined, as: 'tenant' };
export const secret = 'very-secret-value';
export const issued = (value: string, expire = 7_200) =>
  answered(200, { code: 0, msg: 'ok', tenant_access_token: value, app_access_token: `a-${value}`, expire });

/** A token endpoint that answers when told to, and counts. */
export function house() {
  const time = new VirtualTime();
  const asked: UpstreamRequest[] = [];
  const open: Subscriber<Exchange>[] = [];
  const counted: string[] = [];
  const metrics: Metrics = {
    counter: () => ({
      add: (labels) => {
        counted.push(labels['outcome'] ?? '');
      },
    }),
    histogram: () => ({ observe: () => undefined }),
    gauge: () => undefined,
  };
  const tokens = new FeishuTokens({
    apps: [
      { id: 'cli_a', secret },
      { id: 'cli_b', secret: 'other' },
      { id: 'cli_s', secret: 'store', kind: 'store' },
    ],
    upstream: {
      send: (request) =>
        new Observable<Exchange>((subscriber) => {
          asked.push(request);
          open.push(subscriber);
        }),
    } satisfies Upstream,
    clock: time,
    timers: time,
    random: seededRandom(
      1,
      Array.from({ length: 100 }, () => 0),
    ),
    metrics,
  });
  const answer = (exchange: Exchange): void => {
    const subscriber = open.shift();
    subscriber?.next(exchange);
    subscriber?.complete();
  };
  const get = (wanted = need): TokenReply[] => {
    const replies: TokenReply[] = [];
    tokens
      .get(wanted)
      .subscribe({ next: (reply) => replies.push(reply), error: (error: unknown) => expect.fail(String(error)) });
    return replies;
  };
  return { time, tokens, asked, open, counted, answer, get };
}

export const token = (value: string, version: number) => ({ kind: 'token', token: { value, version } });
