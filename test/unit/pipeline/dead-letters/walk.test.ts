import fc from 'fast-check';
import { NEVER, Observable, of, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { type Embedded, openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import type { InRecord } from '../../../../src/model/record.ts';
import { walk, type WalkOptions, type WalkProgress } from '../../../../src/pipeline/dead-letters/walk.ts';
import { collect } from '../../../support/collect.ts';
import { noLogger } from '../../../support/silent.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const topic = 'dead-letters';

class WalkBench {
  readonly time = new VirtualTime();
  readonly store: Embedded = openEmbedded({
    data: 'memory',
    clock: this.time,
    timers: this.time,
    logger: noLogger,
    nextTurn: (task) => void this.time.after(0, task),
    topics: [{ name: topic, partitions: 3 }],
  });
  readonly acted: { readonly record: InRecord; readonly atMs: number }[] = [];
  readonly seen: WalkProgress[] = [];
  error: unknown;

  write(count: number, from = 0): void {
    for (let n = from; n < from + count; n++) {
      const key = Buffer.from(`key-${n % 7}`);
      this.store.sink.append({ topic, key, value: Buffer.from(String(n)), headers: [] }).subscribe();
    }
    this.time.advance(1);
  }

  get ends(): Map<number, number> {
    const ends = new Map<number, number>();
    collect(this.store.reader.bounds(topic)).values[0]?.forEach(({ partition, end }) => ends.set(partition, end));
    return ends;
  }

  /** @returns ends the walk like a killed process */
  walk(more: Partial<WalkOptions> = {}, actMs = 3): () => void {
    const running = walk({
      source: this.store.source('walk', [topic]),
      clock: this.time,
      timers: this.time,
      ends: this.ends,
      about: 'a',
      passOver: () => undefined,
      act: (record) =>
        new Observable((subscriber) => {
          this.acted.push({ record, atMs: this.time.now() });
          return this.time.after(actMs, () => {
            subscriber.next('sent');
            subscriber.complete();
          });
        }),
      perSecond: Infinity,
      stop$: NEVER,
      ...more,
    }).subscribe({ next: (progress) => this.seen.push(progress), error: (error: unknown) => (this.error = error) });
    return () => running.unsubscribe();
  }

  get values(): number[] {
    return this.acted.map(({ record }) => Number(record.value));
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

describe('a walk over dead letters', () => {
  it('acts on each record once, in order per key, and tells when it is through', () => {
    const bench = new WalkBench();
    bench.write(1_000);
    bench.walk();
    bench.time.advance(5_000);
    expect([...bench.values].sort((a, b) => a - b)).toEqual(upTo(1_000));
    for (let key = 0; key < 7; key++) {
      const own = bench.values.filter((n) => n % 7 === key);
      expect(own).toEqual([...own].sort((a, b) => a - b));
    }
    expect(bench.seen.at(-1)).toEqual({ state: 'finished', counts: { sent: 1_000 }, left: 0 });
  });

  it('does not act on what comes behind its ends, so that what fails again is no endless round', () => {
    const bench = new WalkBench();
    bench.write(100);
    bench.walk({ perSecond: 50 });
    bench.time.advance(500);
    bench.write(100, 100);
    bench.time.advance(10_000);
    expect(bench.values.every((n) => n < 100)).toBe(true);
    expect(bench.seen.at(-1)).toMatchObject({ state: 'finished', counts: { sent: 100 } });
  });

  it('keeps to its rate', () => {
    const bench = new WalkBench();
    bench.write(300);
    bench.walk({ perSecond: 40 });
    bench.time.advance(20_000);
    const times = bench.acted.map(({ atMs }) => atMs);
    // At most the makings-up of a late timer more.
    for (const [at, ms] of times.entries()) expect((times[at + 45] ?? Infinity) - ms).toBeGreaterThanOrEqual(1_000);
    expect(times.at(-1)! - times[0]!).toBeLessThan(7_600);
  });

  it('counts what it passes over, by why, and commits it as done', () => {
    const bench = new WalkBench();
    bench.write(30);
    bench.walk({ passOver: ({ value }) => (Number(value) % 3 === 0 ? undefined : 'other') });
    bench.time.advance(2_000);
    expect(bench.seen.at(-1)?.counts).toEqual({ sent: 10, other: 20 });
    expect(bench.store.lag('walk', [topic]).every(({ lag }) => lag === 0)).toBe(true);
  });

  it('stops after what is under way, and goes on there without doing anything twice', () => {
    const bench = new WalkBench();
    bench.write(200);
    const stop$ = new Subject<void>();
    bench.walk({ perSecond: 50, stop$ }, 700);
    bench.time.advance(1_000);
    stop$.next();
    bench.time.advance(2_000);
    expect(bench.seen.at(-1)).toMatchObject({ state: 'stopped' });
    bench.walk({ ends: new Map([[0, 0]]) });
    bench.time.advance(5_000);
    expect([...bench.values].sort((a, b) => a - b)).toEqual(upTo(200));
    expect(bench.seen.at(-1)).toMatchObject({ state: 'finished', left: 0 });
  });

  it('refuses to go on under another filter', () => {
    const bench = new WalkBench();
    bench.write(20);
    bench.walk();
    bench.time.advance(2_000);
    bench.walk({ about: 'b' });
    bench.time.advance(2_000);
    expect(bench.error).toMatchObject({ code: 'bad_request' });
  });

  it('survives a step that ends at once ten thousand times', () => {
    const bench = new WalkBench();
    bench.write(10_000);
    let acted = 0;
    bench.walk({
      act: () => {
        acted++;
        return of('sent');
      },
    });
    bench.time.advance(10_000);
    expect(acted).toBe(10_000);
  });

  it('killed at any moments and started again, loses nothing and repeats no more than was under way', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 6, size: 'max' }),
        fc.constantFrom(20, 200, 5_000),
        fc.integer({ min: 0, max: 900 }),
        (lives, perSecond, actMs) => {
          const bench = new WalkBench();
          bench.write(400);
          const { ends } = bench;
          for (const lifeMs of lives) {
            const kill = bench.walk({ ends, perSecond }, actMs);
            bench.time.advance(lifeMs);
            kill();
          }
          bench.walk({ ends }, actMs);
          bench.time.advance(30_000);
          const times = new Map<number, number>();
          for (const n of bench.values) times.set(n, (times.get(n) ?? 0) + 1);
          expect(times.size).toBe(400);
          const repeated = bench.values.length - 400;
          const mostUnderWay = Math.min(256, (perSecond * (actMs + 600)) / 1_000 + perSecond / 10 + 2);
          // Above the first gap of each of three partitions, too, more may have been done than a commit can tell.
          expect(repeated).toBeLessThanOrEqual(lives.length * Math.min(400, 2 * mostUnderWay));
        },
      ),
      { numRuns: 60 },
    );
  });
});
