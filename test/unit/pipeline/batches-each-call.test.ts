import { Observable, switchMap, take } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';

import type { House } from '../../../src/pipeline/house.ts';
import { collect } from '../../support/collect.ts';
import {
  ask,
  askedTogether,
  contact,
  contacts,
  contactsScript,
  sizes,
  togetherFails,
  togetherMs,
} from '../../support/contacts.ts';
import type { PipelineBench } from '../../support/pipeline-bench.ts';

/** As the door does it: the store is told, then every worker. */
function cancel(bench: PipelineBench, house: House, id: string): void {
  collect(bench.store.claims.cancel(id, 86_400_000));
  house.cancellations.cancel(id);
}

describe('each call of a request keeps what is its own', () => {
  it('its order: calls of one key go one after the other, in different requests', () => {
    const bench = contacts();
    bench.start();
    for (let n = 0; n < 40; n++) bench.call(contact(`c-${n}`), `k-${n % 10}`);
    bench.run(60_000);
    const order = bench.results.map(({ id }) => Number(id.slice(2)));
    for (let key = 0; key < 10; key++)
      expect(order.filter((n) => n % 10 === key)).toEqual([key, key + 10, key + 20, key + 30]);
    for (const attempt of bench.upstream().attempts) {
      const keys = (askedTogether(attempt) ?? []).map((id) => Number(id.split('-')[1]) % 10);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  it('its deadline: the request is given up with the shortest of them, and the others are asked for again', () => {
    const bench = contacts();
    bench.upstream().script = togetherFails({ hang: true }, 1);
    bench.start();
    for (let n = 0; n < 30; n++) bench.call(contact(`c-${n}`, n === 20 ? { ttlMs: 700 } : {}));
    bench.run(900);
    expect(bench.upstream().inFlight).toBe(0);
    bench.run(60_000);
    expect(bench.results).toHaveLength(29);
    expect(bench.deadLetters.map(({ history, reason }) => [history.id, reason])).toEqual([['c-20', 'deadline_passed']]);
  });

  it('its end as cancelled: of what was sent the answer counts, of what was to be repeated the cancellation', () => {
    const bench = contacts();
    bench.upstream().script = togetherFails({ status: 503, afterMs: 200 }, 1);
    const { house } = bench.start();
    ask(bench, 30);
    bench.run(togetherMs);
    const [together = []] = bench
      .upstream()
      .attempts.flatMap((attempt) => [askedTogether(attempt) ?? []])
      .filter(({ length }) => length > 1);
    const id = (together[3] ?? '').replace('ou_', '');
    cancel(bench, house, id);
    bench.run(300);
    expect(bench.results.find((one) => one.id === id)?.status).toBe('cancelled');
    bench.run(60_000);
    expect(bench.results).toHaveLength(30);
  });

  it('its owner: with a partition lost meanwhile, its calls are the next owner’s and the others get their answers', () => {
    const bench = contacts({}, { partitions: 2 });
    bench.upstream().script = (attempt) => ({ ...contactsScript(attempt), afterMs: 300 });
    const [one, two] = [bench.group.member(), bench.group.member()];
    const [first, second] = [bench.start(one), bench.start(two)];
    bench.group.give(0, one);
    bench.group.give(1, one);
    for (let n = 0; n < 60; n++) bench.call(contact(`c-${n}`), `k-${n}`);
    bench.run(togetherMs);
    expect(bench.upstream().inFlight).toBeGreaterThan(0);
    expect(Math.max(...sizes(bench.upstream().attempts))).toBeGreaterThan(10);
    bench.group.give(1, two);
    bench.run(60_000);
    expect(new Set(bench.results.map(({ id }) => id)).size).toBe(60);
    expect(bench.results).toHaveLength(60);
    for (const { house } of [first, second])
      expect([house.keeper.size, house.lanes.inTurn, house.lanes.size]).toEqual([0, 0, 0]);
  });

  it('its claim: a worker that is killed with a request out loses nothing and doubles nothing', () => {
    const bench = contacts();
    bench.upstream().script = (attempt) => ({ ...contactsScript(attempt), afterMs: 300 });
    const first = bench.start();
    ask(bench, 60);
    bench.run(togetherMs);
    expect(Math.max(...sizes(bench.upstream().attempts))).toBe(50);
    expect(bench.upstream().inFlight).toBeGreaterThan(0);
    first.crash();
    const second = bench.start();
    bench.run(120_000);
    expect(second.error).toBeUndefined();
    expect(bench.results.map(({ id }) => id).sort()).toEqual(Array.from({ length: 60 }, (_, n) => `c-${n}`).sort());
    expect(bench.results.every(({ status }) => status === 'ok')).toBe(true);
    expect(bench.deadLetters).toEqual([]);
  });
});

describe('calls whose claims take their time', () => {
  it.each([
    [4, 4],
    [60, 6],
  ])('%i ms: go together as soon as they have them, and nobody waits for one that has not', (claimMs, most) => {
    const bench = contacts();
    const claim$ = bench.store.claims.claim.bind(bench.store.claims);
    vi.spyOn(bench.store.claims, 'claim').mockImplementation((wanted) =>
      new Observable<void>((subscriber) => bench.time.after(claimMs, () => subscriber.next())).pipe(
        take(1),
        switchMap(() => claim$(wanted)),
      ),
    );
    const { house } = bench.start();
    ask(bench, 60);
    bench.run(10_000);
    expect(bench.results.map(({ id }) => id).sort()).toEqual(Array.from({ length: 60 }, (_, n) => `c-${n}`).sort());
    expect(bench.upstream().attempts.length).toBeLessThanOrEqual(most);
    expect([house.lanes.inTurn, house.lanes.size, house.keeper.size]).toEqual([0, 0, 0]);
  });
});

it('a call that waits for the answer to the same question keeps nobody who would ride with it', () => {
  const bench = contacts({ feishu: { cacheMs: 60_000 } });
  bench.upstream().script = (attempt) => ({
    ...contactsScript(attempt),
    afterMs: attempt.path.includes('same') ? 5_000 : 0,
  });
  bench.start();
  bench.call(contact('first', {}, 'ou_same'));
  bench.run(100);
  bench.call(contact('second', {}, 'ou_same'));
  ask(bench, 40);
  bench.run(4_000);
  expect(bench.results).toHaveLength(40);
  bench.run(5_000);
  const sources = new Map(bench.results.map(({ id, source }) => [id, source]));
  expect([sources.get('first'), sources.get('second')]).toEqual(['live', 'cache']);
});
