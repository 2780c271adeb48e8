import { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';

import type { InjectedFault } from '../../../../src/model/injected-fault.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import { injectFault } from '../../../../src/operators/index.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const timeoutMs = 1_000;
const good: Exchange = { kind: 'answered', status: 200, headers: {}, body: Buffer.from('{}') };

/** One attempt whose upstream answers after 20 ms; tells what came, and when. */
function attempt(rule: InjectedFault | undefined, takesMs = 20, exchange = good) {
  const time = new VirtualTime();
  const seen = { subscribed: [] as number[], aborted: 0, came: [] as (readonly [number, Exchange])[], completed: 0 };
  const upstream$ = new Observable<Exchange>((subscriber) => {
    seen.subscribed.push(time.now());
    let answered = false;
    const cancel = time.after(takesMs, () => {
      answered = true;
      subscriber.next(exchange);
      subscriber.complete();
    });
    return () => {
      if (!answered) seen.aborted++;
      cancel();
    };
  });
  const subscription = upstream$.pipe(injectFault(rule, { timers: time, timeoutMs })).subscribe({
    next: (came) => seen.came.push([time.now(), came]),
    error: (error: unknown) => expect.fail(String(error)),
    complete: () => seen.completed++,
  });
  return { time, seen, subscription };
}

/** The same, to its end. */
function ended(rule: InjectedFault | undefined, takesMs?: number, exchange?: Exchange) {
  const { time, seen } = attempt(rule, takesMs, exchange);
  time.advance(10_000);
  return { ...seen, timers: time.pending };
}

describe('injectFault', () => {
  it('without a rule leaves an attempt as it is', () => {
    expect(ended(undefined)).toEqual({ subscribed: [0], aborted: 0, came: [[20, good]], completed: 1, timers: 0 });
  });

  it('503 and 429 answer instead of the upstream, with the waits that they ask for', () => {
    const unavailable = ended({ kind: '503', retryAfterSeconds: 7 });
    const refused = ended({ kind: '429', resetSeconds: 3 });

    expect(unavailable.subscribed).toEqual([]);
    expect(unavailable.came).toMatchObject([[0, { status: 503, headers: { 'retry-after': '7' } }]]);
    expect(refused.subscribed).toEqual([]);
    expect(refused.came).toMatchObject([[0, { status: 429, headers: { 'x-ogw-ratelimit-reset': '3' } }]]);
    expect(JSON.parse(String((refused.came[0]![1] as { body: Buffer }).body))).toMatchObject({ code: 99991400 });
  });

  it('a timeout ends the attempt when its time is over; the request goes out only if it is to act', () => {
    const lost = [[timeoutMs, { kind: 'failed', failure: 'attempt-timeout', sent: true }]];
    expect(ended({ kind: 'timeout' })).toMatchObject({ subscribed: [], came: lost, completed: 1, timers: 0 });
    expect(ended({ kind: 'timeout', acts: true })).toMatchObject({
      subscribed: [0],
      came: lost,
      completed: 1,
      timers: 0,
    });
  });

  it('a reset ends it at once, or in place of the answer when it is to act', () => {
    const cut = { kind: 'failed', failure: 'reset', sent: true };
    expect(ended({ kind: 'reset' })).toMatchObject({ subscribed: [], came: [[0, cut]] });
    expect(ended({ kind: 'reset', acts: true })).toMatchObject({ subscribed: [0], came: [[20, cut]] });
  });

  it('what failed by itself is not painted over', () => {
    const refused: Exchange = { kind: 'failed', failure: 'refused', sent: false, message: 'x' };
    expect(ended({ kind: 'reset', acts: true }, 20, refused).came).toEqual([[20, refused]]);
  });

  it('latency sends the request later and gives the attempt no more time for it', () => {
    expect(ended({ kind: 'latency', delayMs: 100 })).toMatchObject({
      subscribed: [100],
      came: [[120, good]],
      timers: 0,
    });
    expect(ended({ kind: 'latency', delayMs: 100 }, 950)).toMatchObject({
      aborted: 1,
      came: [[timeoutMs, { failure: 'attempt-timeout', sent: true }]],
      completed: 1,
    });
    expect(ended({ kind: 'latency', delayMs: 5_000 })).toMatchObject({
      subscribed: [],
      came: [[timeoutMs, { failure: 'attempt-timeout', sent: false }]],
    });
  });

  it.each<InjectedFault>([
    { kind: '503' },
    { kind: '429' },
    { kind: 'timeout' },
    { kind: 'timeout', acts: true },
    { kind: 'reset' },
    { kind: 'reset', acts: true },
    { kind: 'latency', delayMs: 5 },
  ])('who unsubscribes from %o hears nothing more, and leaves no timer', (rule) => {
    const { time, seen, subscription } = attempt(rule);
    time.advance(rule.kind === 'latency' ? 10 : 0);
    const before = seen.came.length;
    subscription.unsubscribe();
    expect(time.pending).toBe(0);
    time.advance(10_000);
    expect(seen.came).toHaveLength(before);
  });
});
