import { expect, it } from 'vitest';

import type { Cancelled, ClaimReply, ClaimRequest, Finish } from '../../src/ports/claim-store.ts';
import { type ClaimStoreBench, ending, leaseMs, request } from '../support/claims/claim-bench.ts';
import { only } from '../support/only.ts';

const ttlMs = 86_400_000;

/** The part of the claim store's contract about calls that nobody wants any more. */
export function claimStoreCancel(bench: () => ClaimStoreBench): void {
  const claim = (more: Partial<ClaimRequest> = {}): Promise<ClaimReply> =>
    only(bench().store.claim(request({ sent: true, ...more })));
  const finish = (fence: number, more: Partial<Finish> = {}): Promise<boolean> =>
    only(bench().store.finish(ending(fence, more)));
  const cancel = (): Promise<Cancelled> => only(bench().store.cancel('call-1', ttlMs));

  it('remembers that nobody wants an id that was never asked for, and counts it as not sent however often it is granted', async () => {
    expect(await cancel()).toBe('kept');
    expect(await cancel()).toBe('kept');
    expect(await only(bench().store.view('call-1'))).toEqual({ kind: 'failed' });
    expect(await claim()).toMatchObject({ kind: 'granted', fence: 1, firstSentAgoMs: undefined, cancelled: true });
    await only(bench().store.extend([{ id: 'call-1', fence: 1 }], leaseMs));
    await bench().advance(leaseMs);
    expect(await claim()).toMatchObject({ kind: 'granted', fence: 2, firstSentAgoMs: undefined, cancelled: true });
    expect(await finish(2)).toBe(true);
    expect(await claim()).toMatchObject({ kind: 'processed' });
  });

  it('lets a call that waits for its time end at once, when nothing was sent', async () => {
    await claim();
    await finish(1, { state: 'FAILED', delayMs: 60_000, nothingActed: true });
    expect(await cancel()).toBe('kept');
    expect(await claim()).toMatchObject({ kind: 'granted', cancelled: true });
  });

  it('says of a call that somebody has in hand that it may be sent, and tells whoever has it next', async () => {
    await claim();
    expect(await cancel()).toBe('told');
    await finish(1, { state: 'FAILED', delayMs: 60_000, nothingActed: true });
    expect(await claim()).toMatchObject({ kind: 'granted', fence: 2, firstSentAgoMs: undefined, cancelled: true });
  });

  it('keeps it known that a call may have been sent', async () => {
    await claim();
    await bench().advance(leaseMs);
    expect(await cancel()).toBe('told');
    expect(await claim()).toMatchObject({ kind: 'granted', firstSentAgoMs: leaseMs, takeovers: 1, cancelled: true });
  });

  it('has nothing to cancel of a call that has ended, nor in what a person sends again', async () => {
    await claim();
    await cancel();
    await finish(1, { state: 'DEAD' });
    expect(await cancel()).toBe('ended');
    const again = await claim({ round: 1 });
    expect(again).toMatchObject({ kind: 'granted', fence: 2 });
    expect(again).not.toHaveProperty('cancelled');
  });
}
