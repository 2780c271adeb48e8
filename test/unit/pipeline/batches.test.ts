import { describe, expect, it } from 'vitest';

import { attemptSteps } from '../../../src/pipeline/explain/attempt-steps.ts';
import { explainRecord } from '../../../src/pipeline/explain/explain-record.ts';
import {
  ask,
  askedTogether,
  contact,
  contacts,
  contactsScript,
  outcomes,
  sizes,
  togetherFails,
  togetherMs,
} from '../../support/contacts.ts';

describe('reads of contacts that wait for quota', () => {
  it('go in few requests, each with the result that it would have had by itself', () => {
    const [together, each] = [contacts(), contacts({ feishu: { batching: false } })];
    for (const bench of [together, each]) {
      bench.start();
      for (let n = 0; n < 200; n++)
        bench.call(contact(`c-${n}`, {}, n % 40 === 7 ? `ou_hidden_${n}` : `ou_${n % 150}`));
      bench.run(120_000);
    }
    expect(outcomes(together).size).toBe(200);
    expect(outcomes(together)).toEqual(outcomes(each));
    expect(each.upstream().attempts).toHaveLength(200);
    // Five are hidden: they are asked for once more, alone.
    expect(together.upstream().attempts.length).toBeLessThanOrEqual(12);
    expect(Math.max(...sizes(together.upstream().attempts))).toBeLessThanOrEqual(50);
    expect(together.upstream().attempts.every(({ atMs }) => atMs < 8_000)).toBe(true);
  });

  it('say in their history how many went in the same request', () => {
    const bench = contacts();
    bench.start();
    ask(bench, 30);
    bench.run(5_000);
    const [asked] = bench.upstream().attempts.flatMap((attempt) => askedTogether(attempt)?.length ?? []);
    expect(asked).toBeGreaterThan(10);
    const together = bench.results.filter(({ attempts }) => attempts[0]?.batchOf === asked);
    expect(together).toHaveLength(asked ?? 0);
    const [step] = attemptSteps(together[0]?.attempts ?? []);
    expect(step?.what).toContain(`in one request with ${(asked ?? 0) - 1} others`);
  });

  it('are explained: which bucket they wait for, and that they are out with others', () => {
    const bench = contacts();
    bench.upstream().script = (attempt) => ({ ...contactsScript(attempt), afterMs: 300 });
    const { house } = bench.start();
    ask(bench, 30);
    const waits = () => explainRecord(house, { kind: 'id', id: 'c-20' }, 'c-20')?.waits[0];
    bench.run(500);
    expect(waits()).toMatchObject({ what: 'quota', on: 'feishu|cli_a|-|GET /open-apis/contact/v3/users/:user_id' });
    bench.run(togetherMs - 500);
    expect(waits()).toMatchObject({ what: 'answer', on: 'feishu' });
    expect(waits()?.why).toContain('in one request with others');
  });

  it('draw one start per request, and never more than the bucket allows', () => {
    const bench = contacts();
    const { house } = bench.start();
    for (let wave = 0; wave < 20; wave++) {
      for (let n = 0; n < 30; n++) bench.call(contact(`w${wave}-${n}`));
      bench.run(500);
    }
    bench.run(5_000);
    const { attempts } = bench.upstream();
    expect(bench.results).toHaveLength(600);
    expect(attempts.length).toBeLessThan(32);
    for (const { atMs } of attempts)
      expect(attempts.filter((one) => one.atMs >= atMs && one.atMs < atMs + 1_000).length).toBeLessThanOrEqual(2);
    expect(house.destinations.get('feishu')?.limiter.snapshot(bench.time.now()).grants).toBe(attempts.length);
    expect(house.destinations.get('feishu')?.limiter.snapshot(bench.time.now()).promised).toBe(0);
  });
});

describe('calls that need not wait', () => {
  it('go by themselves, at once, although their upstream has batching', () => {
    const [on, off] = [true, false].map((batching) => {
      const bench = contacts({ feishu: { batching, limits: [{ limit: 200, windowMs: 1_000 }] } });
      bench.start();
      ask(bench, 40);
      bench.run(1_000);
      return bench.upstream().attempts;
    });
    expect(on).toEqual(off);
    expect(on).toHaveLength(40);
  });

  it.each([
    ['have headers of their own', contact('x', { headers: { 'x-own': '1' } })],
    ['ask for more than the twin can be asked', contact('x', { query: { other: '1' } })],
    ['write', { id: 'x', method: 'PATCH', path: '/open-apis/contact/v3/users/ou_x', body: { name: 'x' } }],
  ])('as do those that %s, however short quota is', (_what, call) => {
    const bench = contacts();
    bench.start();
    for (let n = 0; n < 6; n++) bench.call({ ...call, id: `x-${n}` });
    bench.run(10_000);
    expect(sizes(bench.upstream().attempts)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it.each([
    ['tenant', { tenant: 't2' }],
    ['kind of id', { query: { user_id_type: 'union_id' } }],
  ])('calls of another %s go in another request', (_what, more) => {
    const bench = contacts();
    bench.start();
    for (let n = 0; n < 40; n++) bench.call(contact(`c-${n}`, n % 2 === 0 ? {} : more));
    bench.run(30_000);
    const requests = bench.upstream().attempts.flatMap((attempt) => askedTogether(attempt) ?? []);
    const even = (id: string) => Number(id.split('-')[1]) % 2;
    for (const attempt of bench.upstream().attempts)
      expect(new Set((askedTogether(attempt) ?? []).map(even)).size).toBeLessThanOrEqual(1);
    expect(requests.length).toBeGreaterThan(20);
    expect(outcomes(bench).size).toBe(40);
  });
});

describe('a request for several that fails', () => {
  it('gives each call the same verdict, is one outcome for the breaker, and at most one retry is paid for', () => {
    const bench = contacts({ feishu: { breaker: { consecutiveFailures: 2 } } });
    bench.upstream().script = togetherFails({ status: 503 }, 1);
    const { house } = bench.start();
    const destination = house.destinations.get('feishu');
    const budget = destination?.budget('open.feishu.cn/contact');
    ask(bench, 30);
    bench.run(1_000);
    const before = budget?.credit ?? 0;
    bench.run(100);
    const failed = bench.upstream().attempts.flatMap((attempt) => askedTogether(attempt) ?? []);
    expect(failed.length).toBeGreaterThan(10);
    const paid = before - (budget?.credit ?? 0);
    expect(paid).toBeGreaterThan(0.5);
    expect(paid).toBeLessThanOrEqual(1);
    expect(destination?.breakers?.get('open.feishu.cn/contact').snapshot(bench.time.now())).toMatchObject({
      state: 'closed',
    });
    bench.run(60_000);
    expect(bench.results).toHaveLength(30);
    const histories = bench.results.filter(({ attempts }) => attempts[0]?.status === 503);
    expect(histories).toHaveLength(failed.length);
    for (const { attempts } of histories)
      expect(attempts[0]).toMatchObject({ class: 'retryable', batchOf: failed.length });
  });

  it('that was refused for the rate lets the bucket rest once, and nothing starts before that is over', () => {
    const bench = contacts();
    const refusal = { status: 429, headers: { 'x-ogw-ratelimit-reset': '3' }, body: { code: 99991400, msg: 'limit' } };
    bench.upstream().script = togetherFails(refusal, 1);
    bench.start();
    ask(bench, 30);
    bench.run(60_000);
    const { attempts } = bench.upstream();
    const refused = attempts.find((attempt) => askedTogether(attempt) !== undefined);
    const later = attempts.filter(({ atMs }) => atMs > (refused?.atMs ?? 0) + 20);
    expect(Math.min(...later.map(({ atMs }) => atMs))).toBeGreaterThanOrEqual((refused?.atMs ?? 0) + 3_000);
    expect(bench.results).toHaveLength(30);
  });

  it('because one of them is no good is asked again one by one: only that one ends as a dead letter', () => {
    const bench = contacts();
    bench.start();
    for (let n = 0; n < 12; n++) bench.call(contact(`c-${n}`, {}, n === 5 ? 'ou_bad' : `ou_${n}`));
    bench.run(30_000);
    expect(bench.results).toHaveLength(11);
    expect(bench.deadLetters.map(({ history, reason }) => [history.id, reason])).toEqual([['c-5', 'permanent']]);
    expect(bench.deadLetters[0]?.attempts).toBe(1);
  });

  it('in half-open is one probe for all of them', () => {
    const bench = contacts({ feishu: { breaker: { consecutiveFailures: 1, coolDownMs: 5_000, openJitter: 0 } } });
    let sick = true;
    bench.upstream().script = (attempt) => (sick ? { status: 503 } : contactsScript(attempt));
    const { house } = bench.start();
    ask(bench, 30);
    bench.run(4_000);
    const before = bench.upstream().attempts.length;
    expect(before).toBeLessThanOrEqual(2);
    sick = false;
    bench.run(120_000);
    expect(bench.results).toHaveLength(30);
    const stats = house.lanes.stats();
    expect([stats.queued, stats.inTurn, house.keeper.size]).toEqual([0, 0, 0]);
  });
});
