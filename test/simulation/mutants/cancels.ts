import { map } from 'rxjs';

import type { Job } from '../../../src/pipeline/job.ts';
import type { ClaimReply } from '../../../src/ports/claim-store.ts';
import { countsWhatIsOver, sleepsOn } from '../../support/cancel-mutants.ts';

import { claiming } from './claims.ts';
import type { Mutant } from './mutant.ts';

/** Bugs in what becomes of calls that nobody wants any more, and of those whose upstream is paused. */
export const cancelMutants: readonly Mutant[] = [
  claiming('sends a call that was cancelled before anybody was at it', (claims) => ({
    claim: (request) => claims.claim(request).pipe(map(wanted)),
  })),
  {
    name: 'cancels a call although it may have taken effect',
    from: 106,
    house: ({ cancellations }) => {
      const cancel = cancellations.cancel.bind(cancellations);
      const begun = cancellations.begun.bind(cancellations);
      const jobs = new Map<string, Set<Job>>();
      cancellations.begun = (job) => {
        jobs.set(job.id, (jobs.get(job.id) ?? new Set()).add(job));
        begun(job);
      };
      cancellations.cancel = (id) => {
        for (const job of jobs.get(id) ?? []) job.ambiguousSinceMs = undefined;
        cancel(id);
      };
    },
  },
  { name: 'counts what is left of a call that was cancelled in its ring', house: countsWhatIsOver },
  { name: 'wakes nobody when an upstream goes on', house: sleepsOn },
  {
    name: 'calls an upstream that is paused',
    house: ({ pauses }) => {
      pauses.has = () => false;
    },
  },
];

/** The reply as if nobody had cancelled anything. */
function wanted(reply: ClaimReply): ClaimReply {
  if (reply.kind !== 'granted') return reply;
  const { cancelled: _, ...rest } = reply;
  return rest;
}
