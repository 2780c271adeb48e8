import { describe, expect, it } from 'vitest';

import { headerText } from '../../../../src/model/record.ts';
import type { Acted } from '../../../../src/ports/route.ts';
import { route, RouteBench } from '../../../support/route-bench.ts';

const calls = (...ids: string[]): Acted => ({
  kind: 'done',
  calls: ids.map((id) => ({ id, upstream: 'news', path: '/', body: {} })),
  answer: undefined,
});

describe('routing events', () => {
  it('an event is done, and its offset committed, only when all that its routes made of it is durable', () => {
    const bench = new RouteBench();
    bench.start(route('r', (id) => calls(`${id}-1`, `${id}-2`)));
    bench.sink.hold();
    bench.event('e');
    bench.time.advance(5_000);
    expect([bench.outcomes, bench.committed]).toEqual([[], undefined]);
    bench.sink.release();
    bench.time.advance(1_000);
    expect(bench.callIds).toEqual(['e-1', 'e-2']);
    expect([bench.outcomes, bench.committed]).toEqual([[[{ route: 'r', outcome: 'called' }]], 1]);
  });

  it('events of one key go one after another, others beside them', () => {
    const bench = new RouteBench();
    bench.start(
      route('r', (id, nth) => (id === 'a1' && nth === 1 ? { kind: 'failed', message: 'no', again: true } : calls(id))),
    );
    for (const [id, key] of [
      ['a1', 'a'],
      ['a2', 'a'],
      ['b1', 'b'],
    ] as const)
      bench.event(id, key);
    bench.time.advance(500);
    expect(bench.callIds).toEqual(['b1']);
    bench.time.advance(1_000);
    expect(bench.callIds).toEqual(['b1', 'a1', 'a2']);
  });

  it('what fails is tried again after one and after five seconds, then it is a dead letter, and the others go on', () => {
    const bench = new RouteBench();
    let tries = 0;
    const failing = route('bad', () => {
      tries++;
      return { kind: 'failed', message: 'it broke', again: true };
    });
    bench.start(
      failing,
      route('good', (id) => calls(id)),
    );
    bench.event('e');
    bench.time.advance(5_900);
    expect([tries, bench.records('dead-letters').length]).toEqual([2, 0]);
    bench.time.advance(200);
    expect([tries, bench.callIds]).toEqual([3, ['e']]);
    const [letter] = bench.records('dead-letters');
    expect(headerText(letter?.headers ?? [], 'larkspur-reason')).toBe('attempts_exhausted');
    expect(headerText(letter?.headers ?? [], 'larkspur-history')).toContain('route bad: it broke');
  });

  it('a dead letter keeps the origin that it had before it was sent again', () => {
    const bench = new RouteBench();
    bench.start(route('bad', () => ({ kind: 'failed', message: 'no', again: false })));
    bench.event('e', null, [['larkspur-origin', Buffer.from('c/events/0/7/1')]]);
    bench.time.advance(100);
    expect(bench.records('dead-letters').map(({ headers }) => headerText(headers, 'larkspur-origin'))).toEqual([
      'c/events/0/7/1',
    ]);
  });

  it('a call that its topic does not take is a dead letter, not a loss', () => {
    const bench = new RouteBench();
    const large = { id: 'l', upstream: 'news', path: '/', body: { text: 'x'.repeat(5_000) } };
    bench.start(route('r', (id) => (id === 'l' ? { kind: 'done', calls: [large], answer: undefined } : calls(id))));
    bench.event('l');
    bench.event('n');
    bench.time.advance(1_000);
    expect(bench.callIds).toEqual(['n']);
    expect(bench.records('dead-letters').map(({ headers }) => headerText(headers, 'larkspur-history'))).toEqual([
      expect.stringContaining('route r: what it gives for calls is larger than that topic takes (2000 bytes)'),
    ]);
    // It is told as such: nobody has called.
    expect(bench.outcomes).toEqual([[{ route: 'r', outcome: 'dead-letter' }], [{ route: 'r', outcome: 'called' }]]);
    expect(bench.committed).toBe(2);
  });

  it('a killed one leaves nothing out: the next routes what was not committed, under the same ids', () => {
    const bench = new RouteBench();
    const first = bench.start(route('r', (id) => calls(id)));
    bench.event('e1');
    bench.time.advance(10);
    first.crash();
    bench.event('e2');
    bench.start(route('r', (id) => calls(id)));
    bench.time.advance(1_000);
    expect(bench.callIds).toEqual(['e1', 'e1', 'e2']);
    expect(bench.committed).toBe(2);
  });

  it('what was done behind an event that hangs is not routed again after a kill', () => {
    const bench = new RouteBench();
    const first = bench.start(
      route('r', (id) => (id === 'hangs' ? { kind: 'failed', message: 'no', again: true } : calls(id))),
    );
    bench.event('hangs', 'a');
    for (let n = 0; n < 20; n++) bench.event(`e${n}`, `k${n}`);
    bench.time.advance(600);
    expect([bench.callIds.length, bench.committed]).toEqual([20, 0]);
    first.crash();
    bench.start(route('r', (id) => calls(id)));
    bench.time.advance(1_000);
    expect(bench.callIds.slice(20)).toEqual(['hangs']);
    expect(bench.committed).toBe(21);
  });

  it('an event of a partition that was lost is not begun here', () => {
    const bench = new RouteBench();
    const first = bench.start(
      route('r', (id, nth) => (id === 'a1' && nth === 1 ? { kind: 'failed', message: 'no', again: true } : calls(id))),
    );
    bench.event('a1', 'a');
    bench.event('a2', 'a');
    bench.group.give(0, undefined);
    bench.time.advance(2_000);
    expect(bench.callIds).toEqual(['a1']);
    expect(first.source.staleCommits).toEqual([]);
  });

  it('one that is stopped lets what is under way end, commits, and begins nothing', () => {
    const bench = new RouteBench();
    const first = bench.start(
      route('r', (id, nth) =>
        id === 'slow' && nth === 1 ? { kind: 'failed', message: 'no', again: true } : calls(id),
      ),
    );
    bench.event('done');
    bench.event('slow', 'k');
    bench.event('behind', 'k');
    bench.stop();
    bench.event('late');
    expect(bench.ended).toBe(false);
    bench.time.advance(1_100);
    expect([bench.ended, bench.callIds, bench.committed]).toEqual([true, ['done', 'slow'], 2]);
    first.crash();
    bench.start(route('r', (id) => calls(id)));
    bench.time.advance(100);
    expect(bench.callIds).toEqual(['done', 'slow', 'behind', 'late']);
  });

  it('64 events are under way at once, and what is read ahead of them is bounded', () => {
    const bench = new RouteBench();
    const { source } = bench.start(route('r', (id) => calls(id)));
    bench.sink.hold();
    for (let n = 0; n < 900; n++) bench.event(`e${n}`, `k${n}`);
    bench.time.advance(100);
    expect([bench.sink.waiting, source.position(0)]).toEqual([64, 512 + 128]);
    bench.sink.release();
    bench.time.advance(2_000);
    expect(bench.callIds).toHaveLength(900);
    expect(bench.committed).toBe(900);
  });

  it('what is no event is a dead letter, and a tombstone is nothing', () => {
    const bench = new RouteBench();
    bench.start(route('r', (id) => calls(id)));
    for (const value of [Buffer.from('{'), null, Buffer.from('{"id":1}')]) {
      bench.store.sink.append({ topic: 'events', key: null, value, headers: [] }).subscribe();
    }
    bench.time.advance(1);
    bench.group.poke();
    bench.time.advance(1_000);
    expect(bench.records('dead-letters')).toHaveLength(2);
    expect(bench.committed).toBe(3);
  });
});
