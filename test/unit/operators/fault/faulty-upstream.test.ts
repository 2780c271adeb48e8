import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { ruleFaults } from '../../../../src/model/injected-fault.ts';
import type { InjectedFault } from '../../../../src/model/injected-fault.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import { FaultyUpstream, InjectedFaults } from '../../../../src/operators/index.ts';
import type { Upstream } from '../../../../src/ports/upstream.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

const good: Exchange = { kind: 'answered', status: 200, headers: {}, body: Buffer.from('{}') };

/** Which of some requests are hit by a rule. */
function hitsOf(
  match: InjectedFault['match'],
  requests: readonly (readonly [method: string, path: string])[],
  host = 'news.internal:8080',
) {
  const time = new VirtualTime();
  const faults = new InjectedFaults(seededRandom(1));
  faults.set([match === undefined ? { kind: '503' } : { kind: '503', match }]);
  const within: Upstream = { send: () => of(good) };
  const upstream = new FaultyUpstream(within, { upstream: 'news', host }, faults, time);
  return requests.filter(([method, path]) => {
    let status = 0;
    upstream.send({ method: method as 'GET', path, headers: {}, body: undefined }, 1_000).subscribe({
      next: (exchange) => (status = exchange.kind === 'answered' ? exchange.status : -1),
      error: (error: unknown) => expect.fail(String(error)),
    });
    time.advance(1);
    return status === 503;
  });
}

const items = ['GET', '/items/1?q=/other'] as const;
const token = ['POST', '/open-apis/auth/v3/tenant_access_token/internal'] as const;

describe('a rule of faults', () => {
  it('without a path is for all calls and leaves token endpoints alone; with one it may name them', () => {
    expect(hitsOf(undefined, [items, token])).toEqual([items]);
    expect(hitsOf({ path: '/open-apis/auth' }, [items, token])).toEqual([token]);
  });

  it('fits by upstream, method, and path without the query', () => {
    expect(hitsOf({ upstream: 'weather' }, [items])).toEqual([]);
    expect(hitsOf({ upstream: 'news', method: 'get', path: '/items/*' }, [items, ['POST', '/items/1']])).toEqual([
      items,
    ]);
    expect(hitsOf({ path: '/other' }, [items])).toEqual([]);
  });

  it('fits by host, with its port or without, and by parts of its name', () => {
    for (const host of ['news.internal', 'news.internal:8080', '*.internal', '**']) {
      expect(hitsOf({ host }, [items])).toEqual([items]);
    }
    for (const host of ['internal', '*.news.internal', 'news.internal:80', '*']) {
      expect(hitsOf({ host }, [items])).toEqual([]);
    }
  });

  it('counts: every nth, and so often at most', () => {
    const ten = Array.from({ length: 10 }, (_, n) => ['GET', `/${n}`] as const);
    expect(hitsOf({ everyNth: 4 }, ten).map(([, path]) => path)).toEqual(['/3', '/7']);
    expect(hitsOf({ times: 2 }, ten)).toHaveLength(2);
  });

  it('takes only what its kind uses', () => {
    expect(ruleFaults({ kind: '503', retryAfterSeconds: 1, rate: 0.5 })).toEqual([]);
    expect(ruleFaults({ kind: '503', acts: true, delayMs: 5 }).map(({ key }) => key)).toEqual(['acts', 'delayMs']);
  });
});
