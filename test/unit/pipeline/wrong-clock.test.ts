import { concatMap, map, Observable, take } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { heldStateOf } from '../../../src/model/held.ts';
import { explainHeld } from '../../../src/pipeline/explain/explain-held.ts';
import type { Ack } from '../../../src/ports/record-sink.ts';
import { react } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const hourMs = 3_600_000;

const message = {
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: 'oc_1', msg_type: 'text', content: '{}' },
  ttlMs: 24 * hourMs,
};

/** A worker whose own clock is wrong, and a broker that dates the records of delay topics and is right. */
class Stage {
  aheadMs: number;
  readonly bench = new PipelineBench({ aheadMs: () => this.aheadMs });

  constructor(aheadMs: number) {
    this.aheadMs = aheadMs;
    const { bench } = this;
    const append$ = bench.sink.append.bind(bench.sink);
    bench.sink.append = (record) =>
      append$(record).pipe(
        map((ack) => {
          const isDated = record.topic.startsWith('retry.') && ack.kind === 'written';
          return isDated ? { ...ack, storedAtMs: Math.floor(bench.time.wall()) } : ack;
        }),
        concatMap((ack) => new Observable<Ack>((subscriber) => void bench.time.after(5, () => subscriber.next(ack)))),
        take(1),
      );
  }

  /** Three calls of one key come in, two of them together; the first is told to wait for half a minute. */
  begin(more: Readonly<Record<string, unknown>> = {}): void {
    const { bench } = this;
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 429, headers: { 'retry-after': '30' } } : {});
    for (const id of ['a', 'b']) bench.call(react(id, more), 'k');
    // By now the broker has told its time.
    bench.time.after(1_000, () => bench.call(react('c', more), 'k'));
  }
}

describe('a worker whose clock is hours wrong', () => {
  it.each([0, 20, 3, -3, -30])(
    'lets those behind the first call that leaves it go in time, in order (%i h)',
    (hours) => {
      const stage = new Stage(hours * hourMs);
      const { bench } = stage;
      bench.start();
      stage.begin();
      bench.run(120_000);
      expect(bench.upstream().effects).toEqual(['a', 'b', 'c']);
      expect(bench.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );

  it('does not take the deadline of the first call that leaves it for over', () => {
    const stage = new Stage(-3 * hourMs);
    const { bench } = stage;
    bench.start();
    stage.begin({ ttlMs: 600_000 });
    bench.run(120_000);
    expect(bench.results.map(({ id, status }) => `${id} ${status}`)).toEqual(['a ok', 'b ok', 'c ok']);
    for (const { timing } of bench.results) expect(timing.totalMs).toBeLessThan(120_000);
  });

  it.each([20, -20])('writes down for its successor until when calls are outside (%i h)', (hours) => {
    const stage = new Stage(hours * hourMs);
    const { bench } = stage;
    const first = bench.start();
    stage.begin();
    bench.run(2_000);
    first.crash();
    stage.aheadMs = 0;
    bench.start();
    bench.run(120_000);
    expect(bench.upstream().effects).toEqual(['a', 'b', 'c']);
    expect(bench.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('waits no longer for what others held than is left of it when it is hours behind and has written nothing', () => {
    const stage = new Stage(0);
    const { bench } = stage;
    const first = bench.start();
    stage.begin();
    bench.run(2_000);
    first.crash();
    stage.aheadMs = -3 * hourMs;
    bench.start();
    bench.run(120_000);
    expect(bench.upstream().effects).toEqual(['a', 'b', 'c']);
  });

  it.each([20, -3])('is not believed by who explains what the first call that left it waits for (%i h)', (hours) => {
    const stage = new Stage(hours * hourMs);
    const { bench } = stage;
    bench.start();
    stage.begin();
    bench.run(1_000);
    const [record] = bench.records('retry.10s');
    const state = record && heldStateOf(record);
    if (record === undefined || state === undefined) throw new Error('nobody left');
    const { next, deadline, waits } = explainHeld('a', { id: 'a', key: 'k', record, state });
    const fromNowMs = (iso: string | undefined): number => Date.parse(iso ?? '') - bench.time.wall();
    for (const until of [next?.notBefore, waits[0]?.until])
      expect(Math.abs(fromNowMs(until) - 29_000)).toBeLessThan(1_500);
    expect(Math.abs(fromNowMs(waits[0]?.since))).toBeLessThan(2_000);
    expect(fromNowMs(deadline)).toBeGreaterThan(0);
  });

  it.each([0, 20, -3])('reckons by the broker for how long a call is safe without its claim (%i h)', (hours) => {
    const { bench } = new Stage(hours * hourMs);
    const safeMs = new Map<string, number>();
    const claim$ = bench.store.claims.claim.bind(bench.store.claims);
    bench.store.claims.claim = (request) => {
      safeMs.set(request.id, request.withoutStoreMs ?? 0);
      return claim$(request);
    };
    // The platform knows a key for an hour, of which four fifths count; it rests for 40 minutes.
    let asked = 0;
    bench.upstream().script = () => (asked++ === 0 ? { status: 429, headers: { 'retry-after': '2400' } } : {});
    for (const id of ['a', 'b']) bench.call({ id, path: '/open-apis/im/v1/messages', ...message }, 'k');
    bench.start();
    bench.run(hourMs);
    expect(bench.upstream().effects).toEqual(['a', 'b']);
    expect(Math.abs((safeMs.get('b') ?? 0) - 8 * 60_000)).toBeLessThan(10_000);
  });

  it.each([0, 20, -3])('reckons by the broker how much time a call has left (%i h)', (hours) => {
    const { bench } = new Stage(hours * hourMs);
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 429, headers: { 'retry-after': '600' } } : {});
    bench.call(react('a', { ttlMs: 24 * hourMs }), 'k');
    // By now the broker has told its time: one has enough of it left, one has not.
    bench.time.after(1_000, () => {
      bench.call(react('b', { ttlMs: hourMs }), 'k');
      bench.call(react('c', { deadline: Math.floor(bench.time.wall()) + 300_000 }), 'k');
    });
    bench.start();
    bench.run(hourMs);
    expect(bench.upstream().effects).toEqual(['a', 'b']);
    expect(bench.deadLetters.map(({ history, reason }) => `${history.id} ${reason}`)).toEqual(['c deadline_passed']);
  });
});
