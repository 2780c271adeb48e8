import { mergeMap, Observable, type OperatorFunction, Subject, type Subscriber } from 'rxjs';

import {
  Breaker,
  breakerDefaults,
  Bulkhead,
  ExactLog,
  QuotaBook,
  RetryBudget,
  retryDefaults,
  RetryPlan,
  Ring,
  SlidingWindow,
} from '../../src/operators/index.ts';
import { FairLanes, go } from '../../src/operators/lanes/fair-lanes.ts';
import { mergeMapBounded } from '../../src/operators/lanes/merge-map-bounded.ts';

/** One operation to be measured. */
export interface Stage {
  readonly name: string;
  readonly budgetNs?: number;
  /** Runs that many items. */
  readonly run: (items: number) => void;
  /** Items per round, where it is not the usual number. */
  readonly items?: number;
}

// As cheap as chance can be, so that it does not hide what is measured.
let chance = 0;
const random = { next: () => (chance = (chance + 0.618_033_988_749) % 1) };
// A result that somebody looks at: without it the compiler might drop the work.
let seen = 0;

function ring(): Stage {
  const items = new Ring<number>(1_024);
  for (let i = 0; i < 500; i++) items.push(i);
  return {
    name: 'ring push + shift',
    budgetNs: 10,
    run: (count) => {
      for (let i = 0; i < count; i++) {
        items.push(i);
        seen += items.shift() ?? 0;
      }
    },
  };
}

function window(): Stage {
  const counted = new SlidingWindow({ windowMs: 10_000, buckets: 10 });
  let nowMs = 0;
  return {
    name: 'window record',
    budgetNs: 30,
    run: (count) => {
      for (let i = 0; i < count; i++) counted.record((nowMs += 0.1), i % 100 === 0, false);
    },
  };
}

function breaker(): Stage {
  const guard = new Breaker(breakerDefaults, random);
  let nowMs = 0;
  return {
    name: 'breaker acquire + record',
    budgetNs: 250,
    run: (count) => {
      for (let i = 0; i < count; i++) {
        nowMs += 0.1;
        const permit = guard.acquire(nowMs);
        if (permit.kind === 'permit') guard.record(permit, nowMs, i % 100 === 0, 50);
      }
    },
  };
}

function exactLog(): Stage {
  const log = new ExactLog([
    { limit: 50, windowMs: 1_000 },
    { limit: 1_000, windowMs: 60_000 },
  ]);
  let nowMs = 0;
  return {
    name: 'exact log, two windows',
    budgetNs: 20,
    run: (count) => {
      for (let i = 0; i < count; i++) if (log.take((nowMs += 61))) seen++;
    },
  };
}

function lanes(tenants: number): Stage {
  const queue = new FairLanes<number>({}, () => go);
  const places = Array.from({ length: tenants }, (_, i) => {
    return { lane: `lane ${i}`, owner: queue, priority: 'normal', tenant: `tenant ${i}`, cost: 1 } as const;
  });
  // Two each: a lane that runs empty is forgotten and made anew, which is another cost than the choice of the next.
  for (let round = 0; round < 2; round++) for (const [i, place] of places.entries()) queue.add(i, place);
  return {
    name: `fair lanes, ${tenants} tenants`,
    budgetNs: 150,
    run: (count) => {
      for (let i = 0; i < count; i++) {
        const turn = queue.next(0);
        const place = places[turn?.item ?? 0];
        turn?.done();
        if (turn !== undefined && place !== undefined) queue.add(turn.item, place);
      }
    },
  };
}

function retryDelay(): Stage {
  const plan = new RetryPlan(retryDefaults, random);
  return {
    name: 'retry delay',
    run: (count) => {
      for (let i = 0; i < count; i++) seen += plan.delayMs(1 + (i & 7));
    },
  };
}

function composed(): Stage {
  const quota = new QuotaBook();
  const bulkhead = new Bulkhead({ limit: 32 });
  const guard = new Breaker(breakerDefaults, random);
  const plan = new RetryPlan(retryDefaults, random);
  const budget = new RetryBudget();
  const keys = [
    { key: 'app/tenant/messages', windows: [{ limit: 50, windowMs: 1_000 }] },
    { key: 'tenant/chat', windows: [{ limit: 5, windowMs: 1_000 }] },
  ];
  let nowMs = 0;
  return {
    name: 'limiter + bulkhead + breaker + retry',
    budgetNs: 1_000,
    run: (count) => {
      for (let i = 0; i < count; i++) {
        nowMs += 300;
        if (guard.peek(nowMs) !== undefined || !bulkhead.tryAcquire()) continue;
        const permit = quota.take(keys, 1, nowMs).granted === 1 ? guard.acquire(nowMs) : undefined;
        if (permit?.kind === 'permit') {
          const failed = i % 20 === 0;
          guard.record(permit, nowMs, failed, 50);
          if (failed) plan.after({ attempt: 1, charged: 1, leftMs: 60_000, askedMs: 0, elapsedMs: 0 }, budget);
          else budget.onSuccess();
        }
        bulkhead.release();
      }
    },
  };
}

/** All items at once, so many slots, one inner ending after the other: what a stalled upstream leaves behind. */
function backlog(name: string, merged: (work$: () => Observable<number>) => OperatorFunction<number, number>): Stage {
  return {
    name,
    items: 50_000,
    run: (count) => {
      const open: Subscriber<number>[] = [];
      const source$ = new Subject<number>();
      const work$ = (): Observable<number> =>
        new Observable((subscriber) => {
          open.push(subscriber);
        });
      source$.pipe(merged(work$)).subscribe({
        next: (value) => (seen += value),
        error: (error: unknown) => {
          throw error;
        },
      });
      for (let i = 0; i < count; i++) source$.next(i);
      source$.complete();
      for (let done = 0; done < count; done++) {
        open[done]?.next(1);
        open[done]?.complete();
      }
    },
  };
}

/** The hot operations of the operators, with the budgets that each must keep on a comparable core. */
export function stages(): Stage[] {
  return [
    ring(),
    window(),
    breaker(),
    exactLog(),
    lanes(8),
    lanes(1_000),
    retryDelay(),
    composed(),
    backlog('backlog of 50,000, rxjs mergeMap', (work$) => mergeMap(work$, 50)),
    backlog('backlog of 50,000, mergeMapBounded', (work$) =>
      mergeMapBounded(work$, { concurrency: 50, buffer: 65_536 }),
    ),
  ];
}
