import { forkJoin, map, type Observable, of } from 'rxjs';

import type { Claim, ClaimStore } from '../ports/claim-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { AssignedPartition } from '../ports/record-source.ts';

import type { HeldClaim, Job } from './job.ts';

/** Length of leases, milliseconds. */
export interface LeaseOptions {
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  /** An attempt starts only with its timeout and this much left on the lease. */
  readonly marginMs: number;
}

/** Defaults: 30 s, renewed each 10 s. */
export const leaseDefaults: LeaseOptions = { leaseMs: 30_000, renewEveryMs: 10_000, marginMs: 2_000 };

/** How long the store remembers a claim from its last change, milliseconds: calls with a platform key, and without. */
export interface ClaimLife {
  readonly keyed: number;
  readonly unkeyed: number;
}

/** Defaults: a day, and a week. */
export const claimLifeDefaults: ClaimLife = { keyed: 86_400_000, unkeyed: 7 * 86_400_000 };

/** Keeps the claims of this process alive while their calls are in lanes or under way. */
export class ClaimKeeper {
  readonly #open = new Map<Job, HeldClaim>();
  readonly #claims: ClaimStore;
  readonly #clock: Clock;
  readonly #options: LeaseOptions;
  readonly #ttlMs: ClaimLife;

  /** @param ttlMs how long a claim that was given back is remembered */
  constructor(
    claims: ClaimStore,
    clock: Clock,
    options: LeaseOptions = leaseDefaults,
    ttlMs: ClaimLife = claimLifeDefaults,
  ) {
    this.#claims = claims;
    this.#clock = clock;
    this.#options = options;
    this.#ttlMs = ttlMs;
  }

  /** How often leases are to be prolonged. */
  get renewEveryMs(): number {
    return this.#options.renewEveryMs;
  }

  /** Claims held at present. */
  get size(): number {
    return this.#open.size;
  }

  /** A lease outlasts the longest attempt by one renewal and the margin. */
  leaseMsFor(job: Job): number {
    const { leaseMs, renewEveryMs, marginMs } = this.#options;
    return Math.max(leaseMs, job.destination.attemptMs + renewEveryMs + marginMs);
  }

  /** How long the store remembers this call's claim from its last change. */
  lifeMsFor({ plan: { repeat } }: Job): number {
    return repeat.kind === 'never' ? this.#ttlMs.unkeyed : this.#ttlMs.keyed;
  }

  /** How long the store remembers any claim at most from its last change. */
  get longestLifeMs(): number {
    return Math.max(this.#ttlMs.keyed, this.#ttlMs.unkeyed);
  }

  /** A claim was granted. */
  keep(job: Job, claim: HeldClaim): void {
    job.claim = claim;
    this.#open.set(job, claim);
  }

  /** A claim has ended, or somebody else took it over. */
  forget(job: Job): void {
    this.#open.delete(job);
  }

  /** Whether an attempt of `timeoutMs` would end safely inside the lease. */
  covers(job: Job, timeoutMs: number): boolean {
    const { claim } = job;
    return (
      claim !== undefined && !claim.lost && this.#clock.now() + timeoutMs + this.#options.marginMs <= claim.leaseUntilMs
    );
  }

  /** Prolongs every open claim. A claim that the store no longer knows as ours is marked lost. Emits once. */
  renew(): Observable<void> {
    // Those that may go on without the store by themselves: they must not wait for the others' answer.
    const groups = new Map<string, { readonly leaseMs: number; readonly jobs: Job[] }>();
    for (const job of this.#open.keys()) {
      const leaseMs = this.leaseMsFor(job);
      const name = `${leaseMs} ${job.plan.repeat.kind === 'never'}`;
      const group = groups.get(name) ?? { leaseMs, jobs: [] };
      groups.set(name, group);
      group.jobs.push(job);
    }
    if (groups.size === 0) return of(undefined);
    return forkJoin([...groups.values()].map(({ leaseMs, jobs }) => this.#extend(jobs, leaseMs))).pipe(
      map(() => undefined),
    );
  }

  #extend(jobs: readonly Job[], leaseMs: number): Observable<void> {
    const askedMs = this.#clock.now();
    const held = jobs.flatMap((job) => (job.claim === undefined ? [] : [{ job, claim: job.claim }]));
    const claims: Claim[] = held.map(({ job, claim }) => ({ id: job.id, fence: claim.fence }));
    return this.#claims.extend(claims, leaseMs).pipe(
      map((kept) => {
        for (const [index, { job, claim }] of held.entries()) {
          if (kept[index] === true) claim.leaseUntilMs = askedMs + leaseMs;
          else if (this.#open.get(job) === claim) {
            claim.lost = true;
            this.forget(job);
          }
        }
      }),
    );
  }

  /**
   * Gives claims back that were not acted on to the end, so that the next owner need not wait for the lease. With a
   * partition: those of its calls, else all. Emits once.
   */
  giveBack(partition?: AssignedPartition): Observable<void> {
    const jobs = [...this.#open.keys()].filter(
      (job) => (partition === undefined || job.received.partition === partition) && !job.underWay,
    );
    if (jobs.length === 0) return of(undefined);
    return forkJoin(
      jobs.map((job) => {
        if (job.ambiguousSinceMs === undefined) return this.release(job);
        this.forget(job);
        job.claim = undefined;
        return of(false);
      }),
    ).pipe(map(() => undefined));
  }

  /** Gives one claim back: nothing was done with it. Whoever asks next is granted it, once a retry of it is due. Emits once. */
  release(job: Job): Observable<boolean> {
    const { claim } = job;
    this.forget(job);
    job.claim = undefined;
    if (claim === undefined) return of(false);
    return this.#claims.finish({
      claim: { id: job.id, fence: claim.fence },
      state: 'FAILED',
      result: '',
      delayMs: Math.max(0, job.retryAtMs - this.#clock.now()),
      ttlMs: this.lifeMsFor(job),
      nothingActed: job.ambiguousSinceMs === undefined,
    });
  }
}
