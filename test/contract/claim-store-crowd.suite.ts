import fc from 'fast-check';
import { expect, it } from 'vitest';

import { type ClaimStoreBench, ending, request } from '../support/claims/claim-bench.ts';
import { keepsToTheTable } from '../support/claims/claim-model.ts';
import { only } from '../support/only.ts';

/** The part of the claim store's contract that needs many calls or many histories. */
export function claimStoreCrowd(bench: () => ClaimStoreBench, histories: number): void {
  it('S000-36: stores PENDING before the work and changes each claim atomically: of many claimants one is granted', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => `crowd-${i}`);
    const asks = ids.flatMap((id) =>
      Array.from({ length: 12 }, (_, n) =>
        only((n % 2 === 0 ? bench().store : bench().other).claim(request({ id, origin: `o-${n}` }))),
      ),
    );
    const replies = await Promise.all(asks);
    expect(replies.filter((reply) => reply.kind === 'granted')).toHaveLength(ids.length);
    expect(replies.filter((reply) => reply.kind === 'pending')).toHaveLength(ids.length * 11);
    for (const id of ids) expect(await only(bench().store.view(id))).toEqual({ kind: 'pending' });
  });

  it('answers hundreds of calls of one moment, each with its own answer', async () => {
    const ids = Array.from({ length: 500 }, (_, i) => `many-${i}`);
    const grants = await Promise.all(ids.map((id) => only(bench().store.claim(request({ id })))));
    expect(grants.every((reply) => reply.kind === 'granted')).toBe(true);
    await Promise.all(
      ids.map((id) => only(bench().store.finish(ending(1, { claim: { id, fence: 1 }, result: `r-${id}` })))),
    );
    const replies = await Promise.all(ids.map((id) => only(bench().store.claim(request({ id })))));
    expect(replies.map((reply) => (reply.kind === 'processed' ? reply.result : reply.kind))).toEqual(
      ids.map((id) => `r-${id}`),
    );
  });

  it('S000-34: takes only the allowed transitions, whatever happens in whatever order', async () => {
    let history = 0;
    const property = keepsToTheTable(() => {
      history++;
      return { store: bench().store, id: `history-${history}`, advance: (ms) => bench().advance(ms) };
    });
    await fc.assert(property, { numRuns: histories, seed: 20_260_101 });
  });
}
