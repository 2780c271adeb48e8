import { NEVER } from 'rxjs';
import { describe, expect, it } from 'vitest';

import type { Client } from '../../../src/ingress/clients.ts';
import type { OutRecord } from '../../../src/model/record.ts';

import { api } from './calls-world.ts';

const client = (name: string, more: Partial<Client> = {}): Client => ({
  ...{ name, apps: undefined, upstreams: undefined, perSecond: undefined },
  ...more,
});
const ndjson = { 'content-type': 'application/x-ndjson' };
const linesOf = (...calls: unknown[]) => calls.map((call) => JSON.stringify(call)).join('\n');

const three = linesOf({ path: '/a' }, { path: '/b' }, { path: '/c' });
const idIn = ({ value }: OutRecord): string => (JSON.parse(String(value)) as { id: string }).id;

describe('a client with a token of its own', () => {
  it('makes calls as its apps and to its upstreams, and hears 403 for others; the house may all', () => {
    const world = api({ clients: [client('bot', { apps: ['cli_a'], upstreams: ['feishu', 'news'] })] });

    const answers = [{ path: '/x' }, { path: '/x', app: 'cli_b' }, { path: '/x', upstream: 'stock' }].map((call) =>
      world.send(call, { client: 'bot' }),
    );
    expect(answers.map((answer) => [answer?.status, answer?.body['code']])).toEqual([
      [202, undefined],
      [403, 'forbidden'],
      [403, 'forbidden'],
    ]);
    expect(world.send({ path: '/x', app: 'cli_b' })?.status).toBe(202);
    expect(world.records).toHaveLength(2);
  });

  it('S004-02: beyond its rate it hears 429 with Retry-After, also for nonsense, and others are not touched', () => {
    const world = api({ clients: [client('a', { perSecond: 3 }), client('b')] });
    const ask = (name: string, body: unknown = { path: '/x' }) => world.send(body, { client: name });

    expect([ask('a'), ask('a', 'nonsense'), ask('a'), ask('a')].map((answer) => answer?.status)).toEqual([
      202, 400, 202, 429,
    ]);
    expect(ask('a')).toMatchObject({ headers: { 'retry-after': '1' }, body: { code: 'rate_limited' } });
    expect(ask('b')?.status).toBe(202);
    world.time.advance(1_000);
    expect(ask('a')?.status).toBe(202);
  });
});

describe('Idempotency-Key', () => {
  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });

  it('a repeat gets the first answer, and makes no second call', () => {
    const world = api();
    const [first, again] = [1, 2].map(() => world.send({ path: '/x', body: { n: 1 } }, keyed('k1')));

    expect(first).toMatchObject({ status: 202, body: { id: 'k1' } });
    expect(again).toMatchObject({ status: 202, body: first?.body, headers: { 'idempotency-replayed': 'true' } });
    expect(world.records).toHaveLength(1);
    world.time.advance(86_400_000);
    expect(world.send({ path: '/x' }, keyed('k1'))?.headers['idempotency-replayed']).toBeUndefined();
  });

  it('another body under the same key is a conflict, and so is a repeat while the first is under way', () => {
    const world = api();
    world.send({ path: '/x' }, keyed('k1'));
    expect(world.send({ path: '/y' }, keyed('k1'))).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(world.records).toHaveLength(1);

    const stuck = api({ ack$: NEVER });
    stuck.send({ path: '/x' }, keyed('k1'));
    expect(stuck.send({ path: '/x' }, keyed('k1'))).toMatchObject({ status: 409, headers: { 'retry-after': '1' } });
  });

  it('keys of two clients do not meet, and an id beside a key is refused', () => {
    const world = api({ clients: [client('a'), client('b')] });
    const ids = ['a', 'b'].map((name) => world.send({ path: '/x' }, { client: name, ...keyed('k') })?.body['id']);

    expect(ids).toEqual(['a/k', 'b/k']);
    expect(world.send({ path: '/x', id: 'i' }, keyed('k2'))?.status).toBe(422);
  });

  it('a request that was not taken leaves its key free', () => {
    let ready = false;
    const world = api({ sinkReady: () => ready });
    expect(world.send({ path: '/x' }, keyed('k'))?.status).toBe(503);
    ready = true;
    expect(world.send({ path: '/x' }, keyed('k'))?.status).toBe(202);
  });

  it('a repeated request may wait for the answer, too', () => {
    const world = api({ view$: () => NEVER });
    world.send({ path: '/x' }, keyed('k'));
    const { answers } = world.post({ path: '/x' }, { wait: '3s' }, { 'idempotency-key': 'k' });
    world.time.advance(3_000);
    expect(answers).toMatchObject([{ status: 504, body: { id: 'k' } }]);
    expect(world.records).toHaveLength(1);
  });
});

describe('a batch', () => {
  it('gives each line the answer that it would have had alone, in their order, and writes the good ones in it', () => {
    let n = 0;
    const world = api({ newId: () => `id-${n++}` });
    n = 0;
    const body = `${linesOf({ path: '/a', orderingKey: 'k' }, { nothing: 1 }, { path: '/b', orderingKey: 'k' })}\n\nno json\r\n`;
    const answer = world.send(body, { headers: ndjson });

    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' } });
    expect(answer?.lines.map((line) => [line['line'], line['http'], line['id'] ?? line['code']])).toEqual([
      [1, 202, 'id-0'],
      [2, 422, 'call_invalid'],
      [3, 202, 'id-1'],
      [5, 400, 'bad_request'],
    ]);
    expect(world.records.map(({ value }) => (JSON.parse(String(value)) as { path: string }).path)).toEqual([
      '/a',
      '/b',
    ]);
  });

  it('under an Idempotency-Key each line has an id of its own, and a repeat makes no calls', () => {
    const world = api();
    const send = () =>
      world.send(linesOf({ path: '/a' }, { path: '/b' }), { headers: { ...ndjson, 'idempotency-key': 'k' } });

    expect(send()?.lines.map((line) => line['id'])).toEqual(['k/1', 'k/2']);
    expect(send()?.lines.map((line) => line['id'])).toEqual(['k/1', 'k/2']);
    expect(world.records).toHaveLength(2);
  });

  it('of which no line was taken leaves its key free: a repeat takes them all', () => {
    let ready = false;
    const world = api({ sinkReady: () => ready });
    const send = () => world.send(three, { headers: { ...ndjson, 'idempotency-key': 'k' } })?.lines;

    expect(send()?.map((line) => line['http'])).toEqual([503, 503, 503]);
    ready = true;
    const taken = ['k/1', 'k/2', 'k/3'].map((id) => [202, id]);
    expect(send()?.map((line) => [line['http'], line['id']])).toEqual(taken);
    expect(send()?.map((line) => [line['http'], line['id']])).toEqual(taken);
    expect(world.records.map(idIn)).toEqual(['k/1', 'k/2', 'k/3']);
  });

  it('of which some lines were not taken leaves its key free: a repeat hands in each line under the id it had', () => {
    const world = api({ clients: [client('a', { perSecond: 2 })] });
    const send = () => {
      const lines = world.send(three, { client: 'a', headers: { ...ndjson, 'idempotency-key': 'k' } })?.lines;
      world.time.advance(1_000);
      return lines?.map((line) => [line['http'], line['id']]);
    };
    const partly = [
      [202, 'a/k/1'],
      [202, 'a/k/2'],
      [429, undefined],
    ];

    expect([send(), send()]).toEqual([partly, partly]);
    // The second two are the first two again, which the claims of calls let through once.
    expect(world.records.map(idIn)).toEqual(['a/k/1', 'a/k/2', 'a/k/1', 'a/k/2']);
  });

  it('takes a thousand lines, and no wait', () => {
    const world = api();
    const many = (count: number) => linesOf(...Array.from({ length: count }, () => ({ path: '/x' })));

    expect(world.send(many(1_000), { headers: ndjson })?.lines).toHaveLength(1_000);
    expect(world.send(many(1_001), { headers: ndjson })?.status).toBe(400);
    expect(world.send('\n', { headers: ndjson })?.status).toBe(400);
    expect(world.send(many(1), { headers: ndjson, query: { wait: '1s' } })?.status).toBe(400);
  });

  it('a call of more than a megabyte is 413, in a batch and alone', () => {
    const world = api();
    const large = { path: '/x', body: { text: 'x'.repeat(1_048_576) } };

    expect(world.send(large)).toMatchObject({ status: 413, body: { code: 'record_too_large' } });
    expect(world.send(linesOf(large, { path: '/x' }), { headers: ndjson })?.lines).toMatchObject([
      { http: 413 },
      { http: 202 },
    ]);
  });
});
