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
    const refused = (limit = tier, coolMs = 1_000): Promise<BucketView> => only(bench.log.refused({ limit, coolMs }));

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
      bench.log.giveBack([api], first.stamp, 1);
      bench.log.giveBack([api], first.stamp + 7, 1);
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

    it('learns from a burst that was cut off how much is left, for all windows', async () => {
      await ask(bench.log, [tier], 50);
      for (let i = 0; i < 20; i++) await refused();
      await bench.advance(1_000);
      expect(await ask(bench.other, [tier], 50)).toMatchObject({ granted: 30, buckets: [{ factor: 0.6 }] });
    });

    it('keeps three tenths of a limit whatever one burst says, and takes a little away when no count explains it', async () => {
      await ask(bench.log, [tier], 50);
      for (let i = 0; i < 49; i++) await refused();
      await bench.advance(60_000);
      expect(await ask(bench.log, [tier], 50)).toMatchObject({ granted: 15 });
      // More refusals than starts, told late.
      const slow = bucket('slow', [4, 1_000]);
      await ask(bench.log, [slow], 4);
      await bench.advance(100);
      for (let i = 0; i < 3; i++) await refused(slow, 2_000);
      expect((await refused(slow, 2_000)).factor).toBeCloseTo(0.3, 5);
    });

    it('learns nothing from a refusal now and then, nor from few refusals that a lower limit would not end', async () => {
      const factors: number[] = [];
      const second = async (refusals: number): Promise<void> => {
        await ask(bench.log, [bucket('stray', [50, 1_000])], 50);
        await bench.advance(50);
        for (let i = 0; i < refusals; i++) factors.push((await refused(bucket('stray', [50, 1_000]), 950)).factor);
        await bench.advance(950);
      };
      for (const refusals of [1, 0, 0, 2, 0, 0, 2]) await second(refusals);
      expect(new Set(factors)).toEqual(new Set([1]));
      await bench.advance(5_000);
      factors.splice(0);
      for (const refusals of [2, 2, 2, 2, 2, 2, 2]) await second(refusals);
      // Two of fifty, again and again: 48 are tried, which does not help.
      expect(factors.map((factor) => Math.round(factor * 50))).toEqual([
        ...[50, 50, 50, 50, 49, 48, 48, 48, 48, 48],
        ...[50, 50, 50, 50],
      ]);
    });

    it('believes few refusals when rest follows rest, if that ends them', async () => {
      const factors: number[] = [];
      for (let n = 0; n < 20; n++) {
        const { granted } = await ask(bench.log, [bucket('less', [50, 1_000])], 50);
        await bench.advance(50);
        for (let i = 46; i < granted; i++) factors.push((await refused(bucket('less', [50, 1_000]), 950)).factor);
        await bench.advance(950);
      }
      expect(factors.at(-1)).toBeCloseTo(0.92, 5);
      // Three bursts that were cut off, and one more start that was tried.
      expect(factors).toHaveLength(3 * 4 + 1);
    });

    it('finds the way back, slowly first and then faster, while somebody would use more', async () => {
      await ask(bench.log, [tier], 50);
      for (let i = 0; i < 20; i++) await refused();
      const factors: number[] = [];
      for (let second = 1; second <= 32; second++) {
        await bench.advance(1_000);
        // A minute's limit would end the demand.
        const { buckets } = await ask(bench.log, [bucket('tier', [50, 1_000])], 50);
        factors.push(buckets[0]?.factor ?? 0);
      }
      expect([5, 10, 15, 20, 25].map((second) => Math.round((factors[second] ?? 0) * 100))).toEqual([
        62, 66, 74, 90, 100,
      ]);
    });

    it('leaves a learned limit alone while nobody would use more', async () => {
      await ask(bench.log, [tier], 50);
      for (let i = 0; i < 20; i++) await refused();
      for (let second = 1; second <= 30; second++) {
        await bench.advance(1_000);
        await ask(bench.log, [tier], 2);
      }
      expect(await ask(bench.log, [tier])).toMatchObject({ buckets: [{ factor: 0.6 }] });
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
