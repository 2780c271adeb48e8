import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { ClaimReply, ClaimRequest, Finish } from '../../src/ports/claim-store.ts';
import { type ClaimStoreBench, ending, leaseMs, request } from '../support/claims/claim-bench.ts';
import { only } from '../support/only.ts';

import { claimStoreCancel } from './claim-store-cancel.suite.ts';
import { claimStoreCrowd } from './claim-store-crowd.suite.ts';
import { claimStoreRounds } from './claim-store-rounds.suite.ts';
import { claimStoreTexts } from './claim-store-texts.suite.ts';

/** How many random histories are tried, by what one costs. */
export interface ClaimStoreSuiteOptions {
  readonly histories: number;
}

/** What every {@link ClaimStore} promises. */
export function claimStoreSuite(
  name: string,
  open: () => Promise<ClaimStoreBench>,
  { histories }: ClaimStoreSuiteOptions,
): void {
  describe(`S000-72: claim store: ${name}`, () => {
    let bench: ClaimStoreBench;
    const claim = (more: Partial<ClaimRequest> = {}): Promise<ClaimReply> => only(bench.store.claim(request(more)));
    const finish = (fence: number, more: Partial<Finish> = {}): Promise<boolean> =>
      only(bench.store.finish(ending(fence, more)));
    const extend = (fence: number): Promise<readonly boolean[]> =>
      only(bench.store.extend([{ id: 'call-1', fence }], leaseMs));
    const granted = (fence: number, takeovers = 0, firstSentAgoMs?: number): ClaimReply => ({
      kind: 'granted',
      fence,
      firstSentAgoMs,
      takeovers,
    });

    beforeEach(async () => {
      bench = await open();
    });
    afterEach(async () => {
      await bench.close();
    });

    it('grants an id that nobody knows with fence 1', async () => {
      expect(await claim()).toEqual(granted(1));
      expect(await only(bench.store.view('call-1'))).toEqual({ kind: 'pending' });
    });

    it('makes a second claimant wait for the lease, to the millisecond', async () => {
      await claim();
      await bench.advance(10_000);
      expect(await claim({ origin: 'other' })).toEqual({ kind: 'pending', waitMs: 20_000 });
      await bench.advance(19_999);
      expect(await claim({ origin: 'other' })).toEqual({ kind: 'pending', waitMs: 1 });
      await bench.advance(1);
      expect(await claim({ origin: 'other' })).toEqual(granted(2, 1));
    });

    it('grants a failed claim when it is due, without counting a takeover', async () => {
      await claim();
      expect(await finish(1, { state: 'FAILED', delayMs: 5_000 })).toBe(true);
      expect(await only(bench.store.view('call-1'))).toEqual({ kind: 'failed' });
      await bench.advance(4_999);
      expect(await claim()).toEqual({ kind: 'not-due', waitMs: 1 });
      await bench.advance(1);
      expect(await claim()).toEqual(granted(2));
    });

    it('remembers the first send of a claim that was given back, but for one under which nothing acted', async () => {
      await claim({ sent: true });
      await bench.advance(1_000);
      await finish(1, { state: 'FAILED' });
      expect(await claim({ sent: true })).toEqual(granted(2, 0, 1_000));
      await finish(2, { state: 'FAILED', nothingActed: true });
      expect(await claim({ sent: true })).toEqual(granted(3));
    });

    it('S000-34: answers a second delivery with the stored result and grants nothing', async () => {
      await claim();
      expect(await finish(1)).toBe(true);
      const processed = { kind: 'processed', origin: 'c1/calls/0/7/1000', result: '{"status":"ok"}' };
      expect(await claim({ origin: 'c1/calls/0/9/1001' })).toEqual(processed);
      await bench.advance(leaseMs * 10);
      expect(await claim()).toEqual(processed);
      expect(await only(bench.store.view('call-1'))).toEqual(processed);
    });

    it('gives the origin of the record that was granted the claim last, for its result is the one kept', async () => {
      await claim({ origin: 'first' });
      await finish(1, { state: 'FAILED' });
      await claim({ origin: 'second' });
      await finish(2);
      expect(await claim({ origin: 'first' })).toMatchObject({ kind: 'processed', origin: 'second' });
    });

    it('keeps a dead claim dead, with its reason', async () => {
      await claim();
      expect(await finish(1, { state: 'DEAD', result: '{"reason":"permanent"}' })).toBe(true);
      await bench.advance(leaseMs * 10);
      const dead = { kind: 'dead', origin: 'c1/calls/0/7/1000', result: '{"reason":"permanent"}' };
      expect(await claim()).toEqual(dead);
      expect(await only(bench.store.view('call-1'))).toEqual(dead);
    });

    it('lets eight owners vanish and calls the ninth vanishing dead', async () => {
      expect(await claim()).toEqual(granted(1, 0));
      for (let takeovers = 1; takeovers <= 8; takeovers++) {
        await bench.advance(leaseMs);
        expect(await claim()).toEqual(granted(takeovers + 1, takeovers));
      }
      await bench.advance(leaseMs);
      expect(await claim()).toMatchObject({ kind: 'dead', result: '' });
      expect(await finish(9), 'a late owner cannot bring it back').toBe(false);
      expect(await claim()).toMatchObject({ kind: 'dead' });
    });

    it('remembers the first moment at which bytes may have left, over owners and failures', async () => {
      await claim();
      await bench.advance(leaseMs);
      // The claim that notes it is not yet told of it.
      expect(await claim({ sent: true })).toEqual(granted(2, 1));
      await bench.advance(leaseMs + 5);
      expect(await claim({ sent: true })).toEqual(granted(3, 2, leaseMs + 5));
      await finish(3, { state: 'FAILED' });
      await bench.advance(4_000);
      expect(await claim()).toEqual(granted(4, 2, leaseMs + 4_005));
    });

    it('refuses everything to an old fence and changes nothing by it', async () => {
      await claim();
      await bench.advance(leaseMs);
      await claim();
      expect(await extend(1)).toEqual([false]);
      expect(await finish(1)).toBe(false);
      expect(await only(bench.store.view('call-1'))).toEqual({ kind: 'pending' });
      expect(await finish(2)).toBe(true);
    });

    it('accepts one finish per fence', async () => {
      await claim();
      expect(await finish(1)).toBe(true);
      expect(await finish(1, { result: 'another' })).toBe(false);
      expect(await finish(1, { state: 'DEAD' })).toBe(false);
      expect(await claim()).toMatchObject({ kind: 'processed', result: '{"status":"ok"}' });
    });

    it('lets an owner whose lease has run out finish as long as nobody took the claim', async () => {
      await claim();
      await bench.advance(leaseMs * 2);
      expect(await finish(1)).toBe(true);
    });

    it('prolongs leases, one flag per claim', async () => {
      await claim();
      await claim({ id: 'call-2' });
      await bench.advance(20_000);
      const claims = [
        { id: 'call-1', fence: 1 },
        { id: 'call-2', fence: 9 },
        { id: 'nobody', fence: 1 },
      ];
      expect(await only(bench.store.extend(claims, leaseMs))).toEqual([true, false, false]);
      await bench.advance(29_999);
      expect(await claim()).toEqual({ kind: 'pending', waitMs: 1 });
      expect(await claim({ id: 'call-2' })).toEqual(granted(2, 1));
    });

    it('prolongs none at once', async () => {
      expect(await only(bench.store.extend([], leaseMs))).toEqual([]);
    });

    it('refuses extend and finish of an id that nobody claimed', async () => {
      expect(await extend(1)).toEqual([false]);
      expect(await finish(1)).toBe(false);
      expect(await only(bench.store.view('call-1'))).toEqual({ kind: 'unknown' });
    });

    it('forgets a claim after its time to live, and not before', async () => {
      await claim({ ttlMs: 60_000 });
      await finish(1, { ttlMs: 60_000 });
      await bench.advance(55_000);
      expect(await only(bench.store.view('call-1'))).toMatchObject({ kind: 'processed' });
      await bench.advance(5_001);
      expect(await only(bench.store.view('call-1'))).toEqual({ kind: 'unknown' });
      expect(await claim()).toEqual(granted(1));
    });

    it('never forgets a claim whose lease or not-before is still ahead', async () => {
      await claim({ ttlMs: 1_000 });
      await bench.advance(20_000);
      expect(await claim({ ttlMs: 1_000 })).toMatchObject({ kind: 'pending' });
      await extend(1);
      await bench.advance(20_000);
      expect(await claim({ ttlMs: 1_000 })).toMatchObject({ kind: 'pending' });
      await finish(1, { state: 'FAILED', delayMs: 50_000, ttlMs: 1_000 });
      await bench.advance(40_000);
      expect(await claim()).toMatchObject({ kind: 'not-due' });
    });

    it('keeps any text as it is', async () => {
      const result = JSON.stringify({ text: '飞书 \u0000 "quoted" \\ 🚀', long: 'x'.repeat(100_000) });
      const id = '!~id/with:all{kinds}of*chars';
      await claim({ id, origin: 'o'.repeat(300) });
      await finish(1, { claim: { id, fence: 1 }, result });
      expect(await claim({ id })).toEqual({ kind: 'processed', origin: 'o'.repeat(300), result });
    });

    claimStoreRounds(() => bench);
    claimStoreCancel(() => bench);
    claimStoreCrowd(() => bench, histories);
    claimStoreTexts(() => bench, histories);
  });
}
