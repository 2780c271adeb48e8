import { expect, it } from 'vitest';

import type { ClaimReply, ClaimRequest } from '../../src/ports/claim-store.ts';
import { type ClaimStoreBench, ending, leaseMs, request } from '../support/claims/claim-bench.ts';
import { only } from '../support/only.ts';

/** The part of the claim store's contract about calls that a person sends again. */
export function claimStoreRounds(bench: () => ClaimStoreBench): void {
  const claim = (more: Partial<ClaimRequest> = {}): Promise<ClaimReply> => only(bench().store.claim(request(more)));
  const finish = (fence: number, state: 'PROCESSED' | 'FAILED' | 'DEAD'): Promise<boolean> =>
    only(bench().store.finish(ending(fence, { state, result: state })));

  it('grants a dead claim to the first who asks with a higher round, and to nobody else', async () => {
    await claim({ sent: true });
    await finish(1, 'DEAD');
    expect(await claim({ round: 0 })).toMatchObject({ kind: 'dead' });
    expect(await claim({ round: 1, origin: 'again' })).toMatchObject({ kind: 'granted', fence: 2 });
    expect(await claim({ round: 1, origin: 'twice' })).toMatchObject({ kind: 'pending' });
    await finish(2, 'DEAD');
    expect(await claim({ round: 1 }), 'that round has had its try').toMatchObject({ kind: 'dead' });
    expect(await claim({ round: 2 })).toMatchObject({ kind: 'granted', fence: 3 });
  });

  it('never grants a processed claim again, whatever the round', async () => {
    await claim();
    await finish(1, 'PROCESSED');
    expect(await claim({ round: 7 })).toMatchObject({ kind: 'processed' });
  });

  it('holds nothing that was before against a call that is sent again', async () => {
    await claim({ sent: true });
    for (let takeover = 0; takeover < 9; takeover++) {
      await bench().advance(leaseMs);
      await claim({ sent: true });
    }
    expect(await claim()).toMatchObject({ kind: 'dead', result: '' });
    expect(await claim({ round: 1, sent: true })).toEqual({
      kind: 'granted',
      fence: 10,
      takeovers: 0,
      firstSentAgoMs: undefined,
    });
  });

  it('keeps a round through failures and takeovers, and shows an old owner the door', async () => {
    await claim();
    await finish(1, 'DEAD');
    await claim({ round: 1 });
    expect(await finish(1, 'PROCESSED'), 'the fence of the first round').toBe(false);
    await finish(2, 'FAILED');
    await claim({ round: 1 });
    await bench().advance(leaseMs);
    expect(await claim({ round: 1 })).toMatchObject({ kind: 'granted', fence: 4, takeovers: 1 });
    await finish(4, 'DEAD');
    expect(await claim({ round: 1 })).toMatchObject({ kind: 'dead' });
  });
}
