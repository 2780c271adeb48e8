import { MemoryQuotaLog } from '../../../src/adapters/embedded/quota-log.ts';
import { BreakerRegistry } from '../../../src/operators/breaker/breaker-registry.ts';
import type { Breaker, Permit } from '../../../src/operators/breaker/breaker.ts';
import { breakerDefaults } from '../../../src/operators/breaker/options.ts';
import type { Destination } from '../../../src/pipeline/destination.ts';
import { houseDefaults } from '../../../src/pipeline/house-options.ts';
import { createHouse, type House } from '../../../src/pipeline/house.ts';
import { Slots } from '../../../src/pipeline/slots.ts';
import type { CallPlan, Profile } from '../../../src/ports/profile.ts';
import type { TokenSource } from '../../../src/ports/token-source.ts';
import { benchDestination } from '../../support/bench-destination.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';
import { seededRandom } from '../../support/virtual-time.ts';

import { Claims } from './claims.ts';
import type { Member } from './member.ts';
import { Parked } from './parked.ts';
import type { Process } from './process.ts';
import { QuotaClient } from './quota.ts';
import { Sink } from './sink.ts';
import { keyMemoryMs, UpstreamClient, visitHeader } from './upstream.ts';
import type { World } from './world.ts';

export const attemptMs = 5_000;

/** A registry that remembers which permits its breakers gave. */
class WatchedBreakers extends BreakerRegistry {
  readonly permits = new Set<Permit>();
  readonly #watched = new WeakSet<Breaker>();

  override get(key: string): Breaker {
    const breaker = super.get(key);
    if (this.#watched.has(breaker)) return breaker;
    this.#watched.add(breaker);
    const acquire = breaker.acquire.bind(breaker);
    breaker.acquire = (nowMs, inFlight) => {
      const permit = acquire(nowMs, inFlight);
      if (permit.kind === 'permit') this.permits.add(permit);
      return permit;
    };
    return breaker;
  }
}

/** The product's house with everything real but the world around it. A mutant puts its bug between the parts. */
export function buildHouse(
  world: World,
  process: Process,
  member: Member,
  tokens: TokenSource,
): { readonly house: House; readonly openPermits: () => number } {
  const { sizes } = world.plan;
  const random = seededRandom(Math.floor(process.draw(0, 2 ** 31, 'house')));
  const slots = new Slots(sizes.processSlots);
  // One worker alone counts by itself, as in embedded mode.
  const quota = sizes.replicas === 1 ? new MemoryQuotaLog(process) : new QuotaClient(process);
  const { concurrency } = sizes;
  const watched: WatchedBreakers[] = [];
  const destinationOf = (name: 'feishu' | 'news'): Destination => {
    const limits = sizes.perSecond === 0 ? [] : [{ limit: sizes.perSecond, windowMs: 1_000 }];
    const upstream = new UpstreamClient(process, name);
    const parts = { clock: process, timers: process, random, slots, upstream, tokens, quota };
    const key = sizes.newsKey ? { idempotencyKey: { header: 'idempotency-key', windowMs: keyMemoryMs } } : {};
    const real = benchDestination(name, { concurrency, attemptMs, limits, breaker: 'off', ...key }, parts);
    const breakers = new WatchedBreakers({ optionsOf: () => breakerDefaults, random, max: 8 });
    watched.push(breakers);
    const destination = { ...real, breakers, profile: watching(real.profile, world) };
    return world.mutant?.destination?.(destination, world) ?? destination;
  };
  const destinations = new Map([
    ['feishu', destinationOf('feishu')],
    ['news', destinationOf('news')],
  ]);
  const real = { source: member, sink: new Sink(process), claims: new Claims(process), parked: new Parked(process) };
  const ports = world.mutant?.ports?.(real, process) ?? real;
  const { ringCapacity } = sizes;
  const house = createHouse(
    { clock: process, timers: process, random, log: noLogger, metrics: noMetrics, ...ports, destinations },
    {
      ...houseDefaults,
      ringCapacity,
      watermarks: { ...houseDefaults.watermarks, highItems: ringCapacity / 2, lowItems: ringCapacity / 4 },
      laneItems: sizes.laneItems,
      parkFullLanes: sizes.parkFullLanes,
      maxInTurn: sizes.maxInTurn,
      commitEveryMs: sizes.commitEveryMs,
      commitEveryRecords: 20,
      leases: { leaseMs: 12_000, renewEveryMs: 4_000, marginMs: 1_000 },
    },
  );
  world.mutant?.house?.(house, process);
  const openPermits = (): number => {
    let open = 0;
    for (const { permits } of watched) for (const { ended } of permits) if (!ended) open++;
    return open;
  };
  return { house, openPermits };
}

/** A plan with another repeat rule or request; the request stays lazy. */
export function plannedAnew(
  { api, service, breakerKey, limits, serial, token }: CallPlan,
  repeat: CallPlan['repeat'],
  request: CallPlan['request'],
): CallPlan {
  return { api, service, breakerKey, limits, repeat, serial, token, request };
}

/** Tells the audit of each plan, and lets keys grow old within minutes instead of hours. */
function watching(real: Profile, world: World): Profile {
  return {
    plan: (call, id) => {
      const plan = real.plan(call, id);
      if ('reason' in plan) return plan;
      const repeat: CallPlan['repeat'] =
        plan.repeat.kind === 'keyed' ? { kind: 'keyed', windowMs: keyMemoryMs * 0.8 } : plan.repeat;
      // Planned once per record that a process has read: what it knows of the call, it knows as long as that lasts.
      const visit = String(++world.audit.attempts.visits);
      const shortened = plannedAnew(plan, repeat, () => {
        const request = plan.request();
        return { ...request, headers: { ...request.headers, [visitHeader]: visit } };
      });
      world.audit.attempts.planned(id, shortened);
      return shortened;
    },
    classify: (exchange, plan, wallMs) => real.classify(exchange, plan, wallMs),
  };
}
