import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { ClaimKeeper } from '../../../src/pipeline/claim-keeper.ts';
import type { Job } from '../../../src/pipeline/job.ts';
import type { Claim, ClaimStore, Finish } from '../../../src/ports/claim-store.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const partition = { topic: 'calls', partition: 0, epoch: 1 };

/** The part of a job that a keeper looks at. */
function job(id: string, more: Partial<Job> = {}): Job {
  const plan = { repeat: { kind: 'keyed', windowMs: 1 } };
  const base = {
    id,
    destination: { attemptMs: 10_000 },
    plan,
    received: { partition },
    claim: undefined,
    underWay: false,
    retryAtMs: 0,
  };
  return { ...base, ...more } as unknown as Job;
}

function world() {
  const time = new VirtualTime();
  const extended: (readonly [readonly Claim[], number])[] = [];
  const finished: Finish[] = [];
  let kept = (_claim: Claim): boolean => true;
  const claims = {
    extend: (asked: readonly Claim[], leaseMs: number) => {
      extended.push([asked, leaseMs]);
      return of(asked.map((claim) => kept(claim)));
    },
    finish: (finish: Finish) => {
      finished.push(finish);
      return of(true);
    },
  } as unknown as ClaimStore;
  const keeper = new ClaimKeeper(claims, time);
  const lose = (id: string): void => {
    kept = (claim) => claim.id !== id;
  };
  const keep = (one: Job, fence = 1): Job => {
    keeper.keep(one, { fence, leaseUntilMs: time.now() + keeper.leaseMsFor(one), lost: false });
    return one;
  };
  return { time, keeper, keep, lose, extended, finished };
}

const done = { error: (error: unknown) => expect.fail(String(error)) };

describe('ClaimKeeper', () => {
  it('makes a lease that outlasts the longest attempt by a renewal and the margin', () => {
    const { keeper } = world();
    expect(keeper.leaseMsFor(job('a'))).toBe(30_000);
    expect(keeper.leaseMsFor(job('a', { destination: { attemptMs: 60_000 } as Job['destination'] }))).toBe(72_000);
  });

  it('lets an attempt start only when it ends safely inside the lease', () => {
    const { keeper, keep, time } = world();
    const one = keep(job('a'));
    time.advance(18_000);
    expect(keeper.covers(one, 10_000)).toBe(true);
    time.advance(1);
    expect(keeper.covers(one, 10_000)).toBe(false);
    expect(keeper.covers(job('b'), 1)).toBe(false);
  });

  it('renews all of equal length in one request, from the moment it asked', () => {
    const { keeper, keep, time, extended } = world();
    const jobs = [keep(job('a')), keep(job('b'))];
    keep(job('long', { destination: { attemptMs: 60_000 } as Job['destination'] }));
    time.advance(10_000);
    keeper.renew().subscribe(done);
    expect(extended.map(([claims, leaseMs]) => [claims.map(({ id }) => id), leaseMs])).toEqual([
      [['a', 'b'], 30_000],
      [['long'], 72_000],
    ]);
    expect(jobs[0]?.claim?.leaseUntilMs).toBe(40_000);
  });

  it('marks a claim that was lost, and renews it no more', () => {
    const { keeper, keep, lose, extended } = world();
    const [lost, kept] = [keep(job('lost')), keep(job('kept'))];
    lose('lost');
    keeper.renew().subscribe(done);
    expect([lost.claim?.lost, kept.claim?.lost, keeper.size]).toEqual([true, false, 1]);
    expect(keeper.covers(lost, 1)).toBe(false);
    keeper.renew().subscribe(done);
    expect(extended.at(-1)?.[0].map(({ id }) => id)).toEqual(['kept']);
  });

  it('gives back what waits, not what is under way, and keeps silent about what may have acted', () => {
    const { keeper, keep, finished } = world();
    const [waiting, busy, unknown] = [
      keep(job('waiting')),
      keep(job('busy', { underWay: true })),
      keep(job('unknown', { ambiguousSinceMs: 5 })),
    ];
    keeper.giveBack().subscribe(done);
    expect(finished).toMatchObject([{ claim: { id: 'waiting', fence: 1 }, state: 'FAILED', delayMs: 0 }]);
    expect([waiting.claim, busy.claim?.fence, unknown.claim]).toEqual([undefined, 1, undefined]);
    expect(keeper.size).toBe(1);
  });

  it('lets what was given back be forgotten after the life of its kind, a day or a week unless told', () => {
    const { keeper, keep, finished } = world();
    keep(job('keyed'));
    keep(job('unkeyed', { plan: { repeat: { kind: 'never' } } as Job['plan'] }));
    keeper.giveBack().subscribe(done);
    expect(finished.map(({ claim, ttlMs }) => [claim.id, ttlMs])).toEqual([
      ['keyed', 86_400_000],
      ['unkeyed', 604_800_000],
    ]);
  });

  it('prolongs those that may be repeated and those that may not apart: only the first can do without the store', () => {
    const { keeper, keep, extended } = world();
    keep(job('keyed'));
    keep(job('unkeyed', { plan: { repeat: { kind: 'never' } } as Job['plan'] }));
    keeper.renew().subscribe(done);
    expect(extended.map(([claims]) => claims.map(({ id }) => id))).toEqual([['keyed'], ['unkeyed']]);
  });

  it('gives back only the claims of the partition that was lost', () => {
    const { keeper, keep, finished } = world();
    keep(job('here'));
    keep(job('there', { received: { partition: { ...partition, epoch: 2 } } as Job['received'] }));
    keeper.giveBack(partition).subscribe(done);
    expect(finished.map(({ claim }) => claim.id)).toEqual(['here']);
  });
});
