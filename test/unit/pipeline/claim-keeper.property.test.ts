import fc from 'fast-check';
import { map, type Observable, of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { ClaimKeeper, leaseDefaults } from '../../../src/pipeline/claim-keeper.ts';
import type { HeldClaim, Job } from '../../../src/pipeline/job.ts';
import type { Claim, ClaimStore } from '../../../src/ports/claim-store.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

type Make = (claims: ClaimStore, clock: Clock) => ClaimKeeper;
const real: Make = (claims, clock) => new ClaimKeeper(claims, clock);

const id = fc.nat({ max: 3 });
const ms = fc.integer({ min: 0, max: 25_000 });
const step = fc.oneof(
  fc.record({ do: fc.constant('keep' as const), id }),
  fc.record({ do: fc.constant('pass' as const), ms }),
  // The store answers later than it was asked; its lease runs from when it was asked.
  fc.record({ do: fc.constant('renew' as const), ms: fc.integer({ min: 0, max: 3_000 }) }),
  fc.record({ do: fc.constant('look' as const), id, ms }),
);

/** An attempt that may start ends inside the lease as the store has it, with the margin to spare. */
const staysInLease = (make: Make) =>
  fc.property(fc.array(step, { minLength: 30, maxLength: 80, size: 'max' }), (steps) => {
    const time = new VirtualTime();
    const leases = new Map<string, number>();
    const jobs = new Map<string, Job>();
    let answersAfterMs = 0;
    const claims = {
      extend: (asked: readonly Claim[], leaseMs: number): Observable<readonly boolean[]> => {
        const kept = asked.map((claim) => (leases.get(claim.id) ?? -1) > time.now());
        for (const [index, claim] of asked.entries())
          if (kept[index] === true) leases.set(claim.id, time.now() + leaseMs);
        return of(kept).pipe(map((reply) => (time.advance(answersAfterMs), reply)));
      },
    } as unknown as ClaimStore;
    const keeper = make(claims, time);
    for (const one of steps) {
      switch (one.do) {
        case 'keep': {
          const plan = { repeat: { kind: 'keyed', windowMs: 1 } };
          const job = { id: `${one.id}`, destination: { attemptMs: 10_000 }, plan, claim: undefined } as unknown as Job;
          // The one before has ended.
          const before = jobs.get(job.id);
          if (before !== undefined) keeper.forget(before);
          const leaseUntilMs = time.now() + keeper.leaseMsFor(job);
          leases.set(job.id, leaseUntilMs);
          jobs.set(job.id, job);
          keeper.keep(job, { fence: 1, leaseUntilMs, lost: false } satisfies HeldClaim);
          break;
        }
        case 'pass':
          time.advance(one.ms);
          break;
        case 'renew':
          answersAfterMs = one.ms;
          keeper.renew().subscribe({ error: (error: unknown) => expect.fail(String(error)) });
          break;
        case 'look': {
          const job = jobs.get(`${one.id}`);
          if (job === undefined || !keeper.covers(job, one.ms)) break;
          if (time.now() + one.ms + leaseDefaults.marginMs > (leases.get(job.id) ?? -1)) return false;
        }
      }
    }
    return true;
  });
const runs = { numRuns: 500, seed: 7 };

describe('ClaimKeeper, invariant 24: an attempt is made by who holds the lease', () => {
  it('lets an attempt start only inside the lease that the store keeps, however late it answers', () => {
    fc.assert(staysInLease(real), runs);
  });

  it.each<[string, Make]>([
    ['has no margin', (claims, clock) => new ClaimKeeper(claims, clock, { ...leaseDefaults, marginMs: 0 })],
    [
      'counts a lease from the answer',
      (claims, clock) =>
        new (class extends ClaimKeeper {
          readonly #kept = new Set<Job>();
          override keep(job: Job, claim: HeldClaim): void {
            this.#kept.add(job);
            super.keep(job, claim);
          }
          override renew(): Observable<void> {
            return super.renew().pipe(
              map(() => {
                for (const { claim } of this.#kept) {
                  if (claim?.lost === false) claim.leaseUntilMs = clock.now() + leaseDefaults.leaseMs;
                }
              }),
            );
          }
        })(claims, clock),
    ],
    [
      'asks only whether there is a claim',
      (claims, clock) =>
        new (class extends ClaimKeeper {
          override covers(job: Job): boolean {
            return job.claim !== undefined;
          }
        })(claims, clock),
    ],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(staysInLease(mutant), runs).failed).toBe(true);
  });
});
