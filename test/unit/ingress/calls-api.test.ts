import { NEVER, type Observable, of, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';

import type { ClaimView } from '../../../src/ports/claim-store.ts';

import { api } from './calls-world.ts';

const processed: ClaimView = { kind: 'processed', origin: 'o', result: '{"id":"a","status":"ok"}' };
describe('POST /v1/calls', () => {
  it('answers 202 with the id and the address of the result once the call is durable', () => {
    const world = api();
    const { answers } = world.post({ path: '/x', id: 'a/b' });

    expect(answers).toEqual([
      expect.objectContaining({ status: 202, body: { id: 'a/b', status: 'accepted', result: '/v1/results/a%2Fb' } }),
    ]);
    expect(answers[0]?.headers['location']).toBe('/v1/results/a%2Fb');
    expect(world.time.pending).toBe(0);
  });

  it('writes the call with its id, and an id made here when it has none', () => {
    const world = api();
    world.post({ path: '/x', body: { n: 1 } });

    expect(world.records).toHaveLength(1);
    expect(world.records[0]).toMatchObject({ topic: 'calls', key: null });
    expect(JSON.parse(world.records[0]!.value!.toString())).toEqual({ id: 'made', path: '/x', body: { n: 1 } });
  });

  it('takes the key from orderingKey, then from ?key=, and gives none otherwise', () => {
    const world = api();
    world.post({ path: '/x', orderingKey: 'o' }, { key: 'k' });
    world.post({ path: '/x' }, { key: 'k' });
    world.post({ path: '/x' });

    expect(world.records.map(({ key }) => key?.toString())).toEqual(['o', 'k', undefined]);
  });

  it('carries the request id and the trace, and nothing else a client may claim', () => {
    const world = api();
    world.post({ path: '/x' }, {}, { traceparent: '00-a-b-01', 'x-feishu-openid': 'ou_forged', cookie: 'c' });

    expect(world.records[0]!.headers.map(([name, value]) => [name, value.toString()])).toEqual([
      ['x-request-id', 'r'],
      ['traceparent', '00-a-b-01'],
    ]);
  });

  it.each([
    [400, 'nonsense', {}, ['']],
    [422, { path: '//evil', ttlMs: 'x' }, { wait: '3', key: '' }, ['/ttlMs', '/path', 'wait', 'key']],
    [422, { path: '/x' }, { wait: '31s' }, ['wait']],
    [422, { path: '/x' }, { kee: 'k', wait: '3s' }, ['kee']],
  ])('answers %i to %j %j, names every mistake, and writes nothing', (status, body, query, places) => {
    const world = api({ sinkReady: () => false });
    const [answer] = world.post(body, query).answers;

    expect(answer).toMatchObject({ status, body: { code: status === 400 ? 'bad_request' : 'call_invalid' } });
    expect((answer!.body['faults'] as { at: string }[]).map(({ at }) => at)).toEqual(places);
    expect(world.records).toEqual([]);
  });

  it('answers 422 at once to a call that no worker could make, and writes nothing', () => {
    const fault = { at: '/upstream', message: 'is not configured; known: feishu' };
    const world = api({ refusalOf: ({ upstream }, id) => (upstream === 'nope' && id === 'made' ? fault : undefined) });
    const { answers } = world.post({ path: '/x', upstream: 'nope' }, { wait: '3s' });

    expect(answers).toEqual([expect.objectContaining({ atMs: world.time.now(), status: 422 })]);
    expect(answers[0]!.body).toMatchObject({ code: 'call_invalid', faults: [fault] });
    expect(world.records).toEqual([]);
    expect(world.post({ path: '/x' }).answers).toMatchObject([{ status: 202 }]);
  });

  it('answers 503 with Retry-After at once while records cannot be stored', () => {
    const world = api({ sinkReady: () => false });

    expect(world.post().answers).toEqual([
      expect.objectContaining({ status: 503, body: expect.objectContaining({ code: 'sink_unavailable' }) as unknown }),
    ]);
    expect(world.records).toEqual([]);
  });

  it('answers 413 to a call that is larger than the topic takes', () => {
    const [answer] = api({ ack$: of({ kind: 'too-large', limitBytes: 100 }) }).post().answers;

    expect(answer).toMatchObject({ status: 413, body: { code: 'record_too_large' } });
  });

  it('answers 503 with the id when the call is not stored in time, because it may be yet', () => {
    const world = api({ ack$: NEVER, patienceMs: 2_000 });
    const { answers } = world.post();
    world.time.advance(1_999);
    expect(answers).toEqual([]);
    world.time.advance(1);

    expect(answers[0]).toMatchObject({ status: 503, headers: { 'retry-after': '5' }, body: { id: 'made' } });
  });

  it('holds no more unstored calls than allowed, also when their clients are gone', () => {
    const world = api({ ack$: NEVER, maxHeld: 2 });
    world.post().subscription.unsubscribe();
    world.post();
    world.time.advance(60_000);

    expect(world.post().answers[0]).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining('not taken') as string },
    });
    expect(world.records).toHaveLength(2);
  });
});

describe('POST /v1/calls?wait=', () => {
  it('answers with the result itself, as the worker wrote it', () => {
    let view: ClaimView = { kind: 'unknown' };
    const world = api({ view$: () => of(view) });
    const { answers } = world.post({ path: '/x' }, { wait: '3s' });
    world.time.advance(500);
    view = processed;
    world.time.advance(200);

    expect(answers).toEqual([expect.objectContaining({ status: 200, body: { id: 'a', status: 'ok' } })]);
    expect(world.time.pending).toBe(0);
  });

  it('looks after 25 ms, then ever less often, at most every 200 ms', () => {
    const world = api();
    world.post({ path: '/x' }, { wait: '10s' });
    const at = (ms: number) => {
      world.time.advance(ms - world.time.now());
      return world.looks();
    };

    expect([at(0), at(24), at(25), at(62), at(63)]).toEqual([1, 1, 2, 2, 3]);
    const before = at(2_000);
    expect(at(4_000) - before).toBe(10);
  });

  it('answers 504 with the id when the wait is over, looks no more, and the call goes on', () => {
    const world = api({ view$: () => of({ kind: 'pending' }) });
    const { answers } = world.post({ path: '/x' }, { wait: '3s' });
    world.time.advance(2_999);
    expect(answers).toEqual([]);
    world.time.advance(1);

    expect(answers).toEqual([
      expect.objectContaining({
        atMs: 3_000,
        status: 504,
        body: expect.objectContaining({ code: 'timed_out', id: 'made' }) as unknown,
      }),
    ]);
    expect(world.time.pending).toBe(0);
  });

  it('answers 504 in time also when the store does not answer', () => {
    const world = api({ view$: () => NEVER });
    const { answers } = world.post({ path: '/x' }, { wait: '3s' });
    world.time.advance(3_000);

    expect(answers[0]?.status).toBe(504);
  });

  it('ends with the process: by the answer that came meanwhile, else 504, also when the store does not answer', () => {
    let store$: Observable<ClaimView> = of({ kind: 'pending' });
    const nobodyCalls$ = new Subject<void>();
    const world = api({ view$: () => store$, nobodyCalls$, patienceMs: 2_000 });
    const wait = () => world.post({ path: '/x' }, { wait: '30s' }).answers;
    const answered = wait();
    world.time.advance(1_000);
    store$ = of(processed);
    nobodyCalls$.next();
    expect(answered[0]).toMatchObject({ atMs: 1_000, status: 200 });

    store$ = NEVER;
    const unknown = wait();
    nobodyCalls$.next();
    world.time.advance(30_000);
    expect(unknown[0]).toMatchObject({ atMs: 3_000, status: 504 });
    expect(world.time.pending).toBe(0);
  });

  it('stops looking when the client goes away', () => {
    const world = api();
    const { subscription } = world.post({ path: '/x' }, { wait: '30s' });
    world.time.advance(1_000);
    subscription.unsubscribe();

    expect(world.time.pending).toBe(0);
  });

  it('answers 202 at once to more waiting clients than allowed, and takes them again later', () => {
    const world = api({ maxWaiting: 1 });
    const first = world.post({ path: '/x' }, { wait: '30s' });

    expect(world.post({ path: '/x' }, { wait: '30s' }).answers[0]?.status).toBe(202);
    first.subscription.unsubscribe();
    expect(world.post({ path: '/x' }, { wait: '30s' }).answers).toEqual([]);
  });
});
