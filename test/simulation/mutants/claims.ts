import { map, of } from 'rxjs';

import { ClaimKeeper } from '../../../src/pipeline/claim-keeper.ts';
import type { Job } from '../../../src/pipeline/job.ts';
import type { Claim, ClaimReply, ClaimStore } from '../../../src/ports/claim-store.ts';
import type { Process } from '../world/process.ts';

import type { Mutant } from './mutant.ts';

/** A mutant whose claims answer otherwise. */
export function claiming(
  name: string,
  change: (claims: ClaimStore, process: Process) => Partial<ClaimStore>,
  from = 0,
): Mutant {
  return {
    name,
    from,
    ports: (ports, process) => {
      const { claims } = ports;
      const same: ClaimStore = {
        claim: (request) => claims.claim(request),
        extend: (held, leaseMs) => claims.extend(held, leaseMs),
        finish: (finish) => claims.finish(finish),
        view: (id) => claims.view(id),
        cancel: (id, ttlMs) => claims.cancel(id, ttlMs),
        ready: () => claims.ready(),
      };
      return { ...ports, claims: { ...same, ...change(claims, process) } };
    },
  };
}

/** Bugs around the right to act on a call. */
export const claimMutants: readonly Mutant[] = [
  claiming(
    'knows no fence: whoever finishes last is right',
    (claims, { world }) => ({
      finish: (finish) =>
        claims.finish(finish).pipe(
          map((ours) => {
            if (!ours) world.claims.overwrite(finish);
            return true;
          }),
        ),
    }),
    100,
  ),
  claiming('acts although somebody else is at it', (claims, { world }) => ({
    claim: (request) =>
      claims.claim(request).pipe(
        map((reply): ClaimReply => {
          if (reply.kind !== 'pending') return reply;
          return { kind: 'granted', fence: world.claims.fenceOf(request.id), firstSentAgoMs: undefined, takeovers: 0 };
        }),
      ),
  })),
  claiming('takes a call over as if nobody had sent it', (claims) => ({
    claim: (request) =>
      claims
        .claim(request)
        .pipe(map((reply) => (reply.kind === 'granted' ? { ...reply, firstSentAgoMs: undefined } : reply))),
  })),
  claiming('does not mark that bytes leave', (claims) => ({
    claim: (request) => claims.claim({ ...request, sent: false }),
  })),
  claiming(
    'goes on after it was superseded',
    (claims) => ({ finish: (finish) => claims.finish(finish).pipe(map(() => true)) }),
    100,
  ),
  claiming('finishes no claim', () => ({ finish: () => of(true) })),
  {
    name: 'does not look at the lease before it sends',
    from: 90,
    house: ({ keeper }) => {
      keeper.covers = () => true;
    },
  },
  {
    name: 'gives claims of calls back that are under way',
    house: ({ keeper, claims }) => {
      const jobs = new Set<Job>();
      const keep = keeper.keep.bind(keeper);
      keeper.keep = (job, claim) => {
        jobs.add(job);
        keep(job, claim);
      };
      keeper.giveBack = (partition) => {
        for (const { received, underWay, claim, id } of jobs) {
          if (received.partition !== partition || !underWay || claim === undefined) continue;
          const held: Claim = { id, fence: claim.fence };
          claims.finish({ claim: held, state: 'FAILED', result: '', delayMs: 0, ttlMs: 86_400_000 }).subscribe();
        }
        return ClaimKeeper.prototype.giveBack.call(keeper, partition);
      };
    },
  },
];
