import { tap } from 'rxjs';
import { describe, expect, it } from 'vitest';

import type { SharedLimiterOptions } from '../../../../src/operators/limit/options.ts';
import { SharedLimiter } from '../../../../src/operators/limit/shared-limiter.ts';
import type { Taken } from '../../../../src/operators/limit/taken.ts';
import type { LimitKey } from '../../../../src/ports/profile.ts';
import { collect } from '../../../support/collect.ts';
import { bucket } from '../../../support/quota/quota-bench.ts';
import { ScriptedQuotaLog } from '../../../support/quota/scripted-quota-log.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const tier = bucket('tier', [50, 1_000]);
const api = bucket('api', [3, 1_000]);
const chat = (id: number) => bucket(`chat/${id}`, [1, 1_000]);

function bench(options: Partial<SharedLimiterOptions> = {}) {
  const time = new VirtualTime();
  const log = new ScriptedQuotaLog(time);
  const make = () => new SharedLimiter({ log, clock: time, timers: time, stretchMs: 0, ...options });
  return { time, log, make, limiter: make() };
}

/** What came of a start, once it is known. */
function start(limiter: SharedLimiter, limits: readonly LimitKey[], nowMs: number): { taken: Taken } {
  const seen = { taken: limiter.take(limits, nowMs) };
  if (seen.taken.kind === 'ask') collect(limiter.ask(limits).pipe(tap((taken) => (seen.taken = taken))));
  return seen;
}

describe('SharedLimiter', () => {
  it('asks nobody for a call without limits', () => {
    const { log, limiter, time } = bench();
    expect(limiter.take([bucket('none')], 0).kind).toBe('granted');
    expect(limiter.take([], 0).kind).toBe('granted');
    time.advance(10);
    expect(log.roundTrips).toBe(0);
  });

  it('asks once for all that come in one moment, and tells each its time, or when to come back', () => {
    const { log, limiter, time } = bench();
    const seen = Array.from({ length: 70 }, () => start(limiter, [tier], 0));
    time.advance(1);
    expect(log.roundTrips).toBe(1);
    expect(seen.filter(({ taken }) => taken.kind === 'granted')).toHaveLength(13);
    const waits = seen.flatMap(({ taken }) => (taken.kind === 'wait' ? [taken.untilMs] : []));
    // Counted from when the answer came: a little late, never early.
    expect(waits.slice(0, 3)).toEqual([17, 33, 49]);
    expect(waits.filter((atMs) => atMs <= 1_001)).toHaveLength(38 + 19);
    for (const atMs of [17, 33, 49]) {
      time.advance(16);
      expect(limiter.earliestMs([tier], time.now(), true).atMs).toBe(atMs);
      expect(limiter.take([tier], atMs, true).kind).toBe('granted');
    }
    expect(log.roundTrips).toBe(1);
    expect(limiter.snapshot(time.now()).grants).toBe(16);
  });

  it('grants by all buckets or by none', () => {
    const { limiter, time } = bench();
    const first = start(limiter, [api, chat(1)], 0);
    time.advance(1);
    const [second, third] = [start(limiter, [api, chat(1)], 1), start(limiter, [api, chat(2)], 1)];
    time.advance(1);
    expect([first, second, third].map(({ taken }) => taken.kind)).toEqual(['granted', 'wait', 'granted']);
    expect(limiter.earliestMs([api, chat(1)], 2).key).toBe('chat/1');
    expect(limiter.earliestMs([api, chat(3)], 2).atMs).toBe(2);
  });

  it('does not ask the log again before the time that it named: those who come meanwhile ask together then', () => {
    const { log, limiter, time } = bench();
    for (let i = 0; i < 50; i++) start(limiter, [tier], 0);
    time.advance(1);
    const { atMs } = limiter.earliestMs([tier], 1);
    for (let i = 0; i < 5; i++) {
      expect(limiter.take([tier], time.now())).toEqual({ kind: 'wait', untilMs: atMs, key: 'tier' });
      time.advance(5);
    }
    time.advance(atMs - time.now());
    const seen = Array.from({ length: 5 }, () => start(limiter, [tier], time.now()));
    time.advance(20);
    expect(log.roundTrips).toBe(2);
    expect(seen.every(({ taken }) => taken.kind === 'granted' || (taken.kind === 'wait' && taken.appointed))).toBe(
      true,
    );
  });

  it('takes ahead of need when starts come one by one, hands those out at once, and gives back what nobody used', () => {
    const { log, limiter, time } = bench();
    const wide = bucket('wide', [1_000, 1_000]);
    for (let i = 0; i < 200; i++) {
      const { taken } = start(limiter, [wide], time.now());
      if (taken.kind === 'ask') time.advance(1);
      time.advance(1);
    }
    expect(log.roundTrips).toBeLessThanOrEqual(40);
    time.advance(100);
    expect(log.book.take([wide], 1, time.now()).buckets[0]?.taken[0]).toBe(201);
    expect(limiter.snapshot(time.now()).grants).toBe(200);
  });

  it('lets so few through to ask at once that other replicas get their share, and wakes the rest', () => {
    const { log, limiter } = bench();
    const woken: string[] = [];
    limiter.onRoom((key) => woken.push(key));
    log.replicas = 3;
    let through = 0;
    while (limiter.earliestMs([tier], 0).atMs === 0) {
      limiter.promise([tier]);
      through++;
    }
    expect(through).toBe(17);
    limiter.unpromise([tier]);
    expect(woken).toEqual(['tier']);
    expect(limiter.earliestMs([tier], 0).atMs).toBe(0);
  });

  it('S13: after a refusal no replica starts before the rest is over, other buckets go on', () => {
    const { limiter, make, time } = bench();
    const other = make();
    limiter.refused(tier, 7_250, 0);
    time.advance(3_000);
    limiter.refused(tier, 2_000, 3_000);
    time.advance(1);
    const told = start(other, [tier, chat(1)], time.now());
    time.advance(1);
    // What the other one learned took as long as half of a round trip.
    expect(told.taken).toMatchObject({ kind: 'wait', untilMs: 7_251 });
    expect(limiter.earliestMs([tier], time.now()).atMs).toBeCloseTo(7_250, -1);
    expect(limiter.take([tier], time.now()).kind).toBe('wait');
    expect(start(other, [chat(1)], time.now()).taken.kind).toBe('ask');
  });

  it('gives back what was granted while a refusal was heard here', () => {
    const { log, limiter, time } = bench();
    const one = start(limiter, [tier], 0);
    const both = start(limiter, [api, chat(1)], 0);
    time.advance(0.6);
    limiter.refused(tier, 5_000, 0.6);
    limiter.refused(chat(1), 7_000, 0.6);
    time.advance(0.4);
    expect(one.taken).toEqual({ kind: 'wait', untilMs: 5_000.6, key: 'tier' });
    expect(both.taken).toEqual({ kind: 'wait', untilMs: 7_000.6, key: 'chat/1' });
    expect(limiter.snapshot(1).grants).toBe(0);
    expect(log.book.take([tier], 50, 6_000).granted).toBe(50);
  });

  it('uses what came much later than usual, and tells the log when it was used', () => {
    const { log, limiter, time } = bench();
    const first = start(limiter, [api], 0);
    time.advance(1);
    log.rttMs = 100;
    const second = start(limiter, [api], 1);
    time.advance(100);
    expect([first.taken.kind, second.taken.kind]).toEqual(['granted', 'granted']);
    // Counted at 101, when it was used, not at 51, when it was granted.
    expect(log.book.take([api], 9, time.now())).toMatchObject({ granted: 1 });
    time.advance(950);
    expect(log.book.take([api], 9, time.now())).toMatchObject({ granted: 1 });
  });

  it('gives what was asked for by a call that has gone to another, or back', () => {
    const { log, limiter, time } = bench();
    limiter
      .ask([api, chat(1)])
      .subscribe()
      .unsubscribe();
    const left = limiter.ask([api]).subscribe();
    left.unsubscribe();
    time.advance(100);
    expect(log.book.take([api], 9, time.now()).granted).toBe(3);
  });

  it('has a grant again that the breaker refused', () => {
    const { log, limiter, time } = bench();
    const { taken } = start(limiter, [chat(1)], 0);
    expect(taken.kind).toBe('ask');
    time.advance(1);
    const granted = start(limiter, [chat(2)], 1);
    time.advance(1);
    if (granted.taken.kind === 'granted') limiter.giveBack([chat(2)], granted.taken.grant);
    expect(log.book.take([chat(2)], 1, time.now()).granted).toBe(1);
  });

  it('forgets buckets that no longer matter', () => {
    const { limiter, time } = bench({ maxBuckets: 100 });
    for (let i = 0; i < 2_000; i++) {
      start(limiter, [chat(i)], time.now());
      time.advance(20);
    }
    expect(limiter.snapshot(time.now()).keys).toBeLessThanOrEqual(100);
  });
});
