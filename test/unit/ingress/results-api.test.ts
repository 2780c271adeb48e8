import { NEVER, of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { deadLetterReasons } from '../../../src/model/dead-letter.ts';
import type { ClaimView } from '../../../src/ports/claim-store.ts';

import { api } from './calls-world.ts';

const dead = (result: string): ClaimView => ({ kind: 'dead', origin: 'o', result });
const history = (reason: string) =>
  JSON.stringify({ reason, message: 'why', at: '2026-01-01T00:00:00Z', upstream: 'news', attempts: [] });

describe('GET /v1/results/{id}', () => {
  it('answers with the result as the worker wrote it', () => {
    const view: ClaimView = { kind: 'processed', origin: 'o', result: '{"id":"a", "status":"ok"}' };

    expect(api({ view$: () => of(view) }).get('a')).toEqual([
      expect.objectContaining({ status: 200, body: { id: 'a', status: 'ok' } }),
    ]);
  });

  it.each(['pending', 'failed'] as const)('answers 202 while the call is %s', (kind) => {
    expect(api({ view$: () => of({ kind }) }).get('a')[0]).toMatchObject({
      status: 202,
      body: { id: 'a', status: 'pending' },
    });
  });

  it('answers 404 to an id that nothing is known of, but 202 to one that was just accepted', () => {
    const world = api();
    expect(world.get('made')[0]).toMatchObject({ status: 404, body: { code: 'not_found', id: 'made' } });
    world.post();

    expect(world.get('made')[0]).toMatchObject({ status: 202 });
  });

  it('forgets the oldest of very many accepted ids', () => {
    const world = api();
    for (let n = 0; n <= 10_000; n++) world.post({ path: '/x', id: `id${n}` });

    expect([world.get('id0')[0]?.status, world.get('id1')[0]?.status, world.get('id10000')[0]?.status]).toEqual([
      404, 202, 202,
    ]);
  });

  it.each(deadLetterReasons)('tells people what to do about a call that ended as %s', (reason) => {
    const [answer] = api({ view$: () => of(dead(history(reason))) }).get('a');

    expect(answer).toMatchObject({
      status: 503,
      body: {
        code: 'no_answer',
        id: 'a',
        reason,
        upstream: 'news',
        detail: expect.stringMatching(/\w{4,}.*\.$/) as string,
      },
    });
    expect(answer?.headers['retry-after']).toBe(answer?.body['repeatable'] === true ? '5' : '3600');
  });

  it('says that another try may help only where it may', () => {
    const repeatable = deadLetterReasons.filter(
      (reason) => api({ view$: () => of(dead(history(reason))) }).get('a')[0]?.body['repeatable'] === true,
    );

    expect(repeatable).toEqual(['attempts_exhausted', 'deadline_passed']);
  });

  it.each(['', 'nonsense', '[]', '{"reason":"of another version"}'])(
    'answers a problem also for the history %j',
    (result) => {
      expect(api({ view$: () => of(dead(result)) }).get('a')[0]).toMatchObject({
        status: 503,
        body: { code: 'no_answer' },
      });
    },
  );

  it('answers 503 when the store is away, or does not answer in time', () => {
    expect(api({ storeReady: false }).get('a')[0]).toMatchObject({ status: 503, body: { code: 'redis_unavailable' } });

    const slow = api({ view$: () => NEVER, patienceMs: 1_000 });
    const answers = slow.get('a');
    slow.time.advance(1_000);
    expect(answers[0]).toMatchObject({ status: 503, body: { code: 'redis_unavailable' } });
  });

  it.each(['', 'a b', 'x'.repeat(513), 'ä'])('answers 400 to the id %j', (id) => {
    expect(api().get(id)[0]).toMatchObject({ status: 400, body: { code: 'bad_request' } });
  });
});
