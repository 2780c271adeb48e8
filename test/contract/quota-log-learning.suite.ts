import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { BucketView } from '../../src/ports/quota-log.ts';
import { only } from '../support/only.ts';
import { ask, bucket, type QuotaLogBench } from '../support/quota/quota-bench.ts';

const tier = bucket('tier', [50, 1_000], [1_000, 60_000]);

/** What every quota log learns from refusals. @param open with windows that are not stretched */
export function quotaLearningSuite(name: string, open: () => Promise<QuotaLogBench>): void {
  describe(`quota log, what it learns: ${name}`, () => {
    let bench: QuotaLogBench;
    beforeEach(async () => {
      bench = await open();
    });
    afterEach(async () => {
      await bench.close();
    });
    const refused = (limit = tier, coolMs = 1_000, agoMs = 0): Promise<BucketView> =>
      only(bench.log.refused({ limit, coolMs, agoMs }));

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
        for (let i = 0; i < refusals; i++) factors.push((await refused(bucket('stray', [50, 1_000]), 950, 50)).factor);
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
        for (let i = 46; i < granted; i++) factors.push((await refused(bucket('less', [50, 1_000]), 950, 50)).factor);
        await bench.advance(950);
      }
      expect(factors.at(-1)).toBeCloseTo(0.92, 5);
      // Three bursts that were cut off, and one more start that was tried.
      expect(factors).toHaveLength(3 * 4 + 1);
    });

    it('takes back a step that was refused, and no more, however many refusals the step has brought', async () => {
      const both = bucket('both', [50, 1_000], [500, 60_000]);
      await ask(bench.log, [both], 50);
      for (let i = 0; i < 20; i++) await refused(both);
      for (const want of [...Array.from({ length: 7 }, () => 29), 17, 30]) {
        await bench.advance(1_000);
        await ask(bench.log, [both], want);
      }
      // The last thirty of 300 in the minute filled a second, so ten more are tried.
      await bench.advance(1_000);
      const tried = await ask(bench.log, [both], 30);
      expect(tried).toMatchObject({ granted: 10, buckets: [{ taken: [10, 310] }] });
      expect(tried.buckets[0]?.factor).toBeCloseTo(0.62, 5);
      for (let i = 0; i < 3; i++) await refused(both);
      expect((await refused(both)).factor).toBeCloseTo(0.6, 5);
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
  });
}
