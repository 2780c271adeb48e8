import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { BucketView } from '../../src/ports/quota-log.ts';
import { only } from '../support/only.ts';
import { isExact, plainHistory } from '../support/quota/histories.ts';
import { ask, bucket, type QuotaLogBench } from '../support/quota/quota-bench.ts';

const api = bucket('api', [3, 1_000]);
const tier = bucket('tier', [50, 1_000], [1_000, 60_000]);
const chat = (id: number) => bucket(`receiver|${id}`, [1, 1_000]);

/** What every {@link QuotaLog} promises. @param open with windows that are not stretched */
export function quotaLogSuite(name: string, open: () => Promise<QuotaLogBench>, histories: number): void {
  describe(`quota log: ${name}`, () => {
    let bench: QuotaLogBench;
    beforeEach(async () => {
      bench = await open();
    });
    afterEach(async () => {
      await bench.close();
    });
    const refused = (limit = tier, coolMs = 1_000, agoMs = 0): Promise<BucketView> =>
      only(bench.log.refused({ limit, coolMs, agoMs }));

    it('grants as many as there are, and says to the millisecond when the next one is', async () => {
      expect(await ask(bench.log, [api], 2)).toMatchObject({ granted: 2, waitMs: 0, key: '' });
      await bench.advance(400);
      expect(await ask(bench.log, [api], 2)).toMatchObject({ granted: 1, waitMs: 600, key: 'api' });
      await bench.advance(599);
      expect(await ask(bench.log, [api])).toMatchObject({ granted: 0, waitMs: 1 });
      await bench.advance(1);
      expect(await ask(bench.log, [api], 9)).toMatchObject({ granted: 2, waitMs: 400 });
    });

    it('counts what any process was granted', async () => {
      await ask(bench.log, [api], 2);
      expect(await ask(bench.other, [api], 2)).toMatchObject({ granted: 1, buckets: [{ taken: [3] }] });
      expect(await ask(bench.log, [api])).toMatchObject({ granted: 0 });
    });

    it('keeps all windows of a bucket at once', async () => {
      const both = bucket('both', [2, 1_000], [3, 10_000]);
      expect(await ask(bench.log, [both], 5)).toMatchObject({ granted: 2, waitMs: 1_000 });
      await bench.advance(1_000);
      expect(await ask(bench.log, [both], 5)).toMatchObject({ granted: 1, waitMs: 9_000 });
    });

    it('grants by all buckets or by none, and names the one that is waited for', async () => {
      await ask(bench.log, [api, chat(1)]);
      await bench.advance(100);
      expect(await ask(bench.log, [api, chat(1)])).toMatchObject({ granted: 0, waitMs: 900, key: 'receiver|1' });
      expect(await ask(bench.log, [api, chat(2)])).toMatchObject({ granted: 1 });
      expect(await ask(bench.log, [api, chat(3)])).toMatchObject({ granted: 1 });
    });

    it('has a grant again that was given back, and only that one', async () => {
      const first = await ask(bench.log, [api], 2);
      await bench.advance(300);
      await ask(bench.log, [api]);
      bench.log.giveBack([api], first.stamps.slice(0, 1));
      bench.log.giveBack([api], [(first.stamps[0] ?? 0) + 7]);
      await bench.settle();
      expect(await ask(bench.other, [api], 2)).toMatchObject({ granted: 1, waitMs: 700 });
    });

    it('lets a bucket rest for everybody, and a rest only grows', async () => {
      expect(await refused(api, 7_000)).toMatchObject({ key: 'api', coolMs: 7_000 });
      expect(await refused(api, 2_000)).toMatchObject({ coolMs: 7_000 });
      await bench.advance(3_000);
      expect(await ask(bench.other, [api, chat(1)])).toMatchObject({
        granted: 0,
        waitMs: 4_000,
        key: 'api',
        buckets: [{ coolMs: 4_000 }, { coolMs: 0 }],
      });
      expect(await ask(bench.other, [chat(1)])).toMatchObject({ granted: 1 });
      await bench.advance(4_000);
      expect(await ask(bench.log, [api])).toMatchObject({ granted: 1 });
    });

    it('lets a bucket rest that has no limit of its own', async () => {
      const month = bucket('month');
      expect(await ask(bench.log, [api, month])).toMatchObject({ granted: 1 });
      await refused(month, 2_678_400_000);
      expect(await ask(bench.other, [api, month])).toMatchObject({ granted: 0, waitMs: 2_678_400_000, key: 'month' });
    });

    it('takes in what was started without it, at its time', async () => {
      await ask(bench.log, [api]);
      await bench.advance(500);
      bench.log.record(api, [1_500, 900, 100]);
      await bench.settle();
      expect(await ask(bench.other, [api])).toMatchObject({ granted: 0, waitMs: 100, buckets: [{ taken: [3] }] });
      await bench.advance(100);
      expect(await ask(bench.other, [api])).toMatchObject({ granted: 1, waitMs: 400 });
    });

    it('grants starts ahead, each with its time, spread evenly where there are more calls than starts', async () => {
      const wide = bucket('wide', [50, 1_000]);
      const first = await ask(bench.log, [wide], 20, 1_000);
      // A quarter at once, then one each 16 ms.
      expect(first.inMs).toEqual([...Array<number>(13).fill(0), 16, 32, 48, 64, 80, 96, 112]);
      expect(first).toMatchObject({ granted: 20, waitMs: 128, key: 'wide', buckets: [{ taken: [20] }] });
      // Who asks for none ahead waits for those that were granted before.
      expect(await ask(bench.other, [wide])).toMatchObject({ granted: 0, waitMs: 112, key: 'wide' });
      await bench.advance(100);
      const second = await ask(bench.other, [wide], 100, 300);
      expect(second.inMs.map(Math.round)).toEqual(Array.from({ length: 18 }, (_, n) => 28 + 16 * n));
      // What goes back may be granted again.
      bench.log.giveBack([wide], second.stamps);
      await bench.settle();
      expect((await ask(bench.log, [wide], 1, 300)).inMs.map(Math.round)).toEqual([28]);
    });

    it('grants ahead only where the first bucket is the one that is waited for', async () => {
      await ask(bench.log, [tier, chat(1)], 1, 1_000);
      expect(await ask(bench.log, [tier, chat(1)], 1, 1_000)).toMatchObject({
        granted: 0,
        waitMs: 1_000,
        key: 'receiver|1',
      });
      await ask(bench.log, [tier], 12, 0);
      const later = await ask(bench.log, [tier, chat(2)], 1, 1_000);
      expect(later).toMatchObject({ granted: 1, inMs: [16], key: 'receiver|2' });
    });

    it('tells the other processes of a rest, once', async () => {
      const heard: string[] = [];
      bench.other.onRest?.((key, restMs) => heard.push(`${key} ${Math.round(restMs)}`));
      // In one process there is nobody to tell.
      const alone = bench.log === bench.other;
      // Who has just begun to listen may miss what is said at that moment.
      while (!alone && heard.length === 0) await refused(bucket('warm-up'), 90_000);
      await refused(bucket('month'), 60_000);
      await expect.poll(() => alone || heard.includes('month 60000')).toBe(true);
      await bench.settle();

      expect(heard.filter((word) => !word.startsWith('warm-up'))).toEqual(alone ? [] : ['month 60000']);
    });

    it('takes a limit that was changed from then on', async () => {
      await ask(bench.log, [api], 3);
      expect(await ask(bench.log, [bucket('api', [5, 1_000])], 9)).toMatchObject({ granted: 2 });
      expect(await ask(bench.log, [bucket('api', [4, 1_000])], 9)).toMatchObject({ granted: 0, waitMs: 1_000 });
    });

    it('invariants 16 and 17: holds every window and knows when the next start is free, whoever asks', async () => {
      await fc.assert(
        fc.asyncProperty(plainHistory, async (history) => {
          const fresh = await open();
          try {
            return await isExact(fresh, history);
          } finally {
            await fresh.close();
          }
        }),
        { numRuns: histories, seed: 16 },
      );
    });
  });
}
