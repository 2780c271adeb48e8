import type { Attempt } from '../../model/result.ts';
import type { BreakerSnapshot } from '../../operators/breaker/breaker.ts';
import type { Destination } from '../destination.ts';
import type { House } from '../house.ts';

import { type Checked, type HealthState, worseOf } from './health-state.ts';

/** How an upstream is, as this worker sees it. */
export interface ApiHealth {
  readonly name: string;
  /** The worse of what calls and the active check say. */
  readonly state: HealthState;
  /** What the active check found last; `undefined` where none is declared, and before the first. */
  readonly check: Checked | undefined;
  /** Who lets its calls wait on purpose; empty: nobody. */
  readonly pausedBy: readonly string[];
  readonly inFlight: number;
  readonly slots: number;
  readonly waitingForSlot: number;
  /** Groups of its APIs that have slots of their own. */
  readonly groups: readonly Pick<ApiHealth, 'name' | 'inFlight' | 'slots' | 'waitingForSlot'>[];
  /** Of an upstream with several addresses. */
  readonly targets: ReturnType<Destination['targets']>;
  readonly breakers: readonly {
    readonly key: string;
    readonly state: BreakerSnapshot['state'];
    readonly forced: BreakerSnapshot['forced'];
    /** In the breaker's window. */
    readonly calls: number;
    readonly failures: number;
    readonly slow: number;
  }[];
  /** The newest failed attempt of a call that is still held here. */
  readonly lastError: Attempt | undefined;
}

// As the alert: what fails more is worth a look before the breaker says so.
const unhealthyRatio = 0.25;
const fewCalls = 4;

/** How each upstream is. A pure look at breakers, slots and what is held: nothing is kept for it while nobody asks. */
export function apiHealth(house: Pick<House, 'destinations' | 'lanes' | 'clock' | 'pauses'>): readonly ApiHealth[] {
  const errors = lastErrors(house);
  const nowMs = house.clock.now();
  return [...house.destinations.values()].map((destination) => ({
    ...healthOf(destination, errors, nowMs),
    pausedBy: house.pauses.heldBy(destination.name),
  }));
}

function healthOf(
  destination: Destination,
  errors: ReadonlyMap<string, Attempt>,
  nowMs: number,
): Omit<ApiHealth, 'pausedBy'> {
  const { name, slots } = destination;
  const breakers = [...(destination.breakers?.entries() ?? [])].map(([key, breaker]) => {
    const { state, forced, calls, failures, slow } = breaker.snapshot(nowMs);
    return { key, state, forced, calls, failures, slow };
  });
  return {
    name,
    state: worseOf(worstOf(breakers.map(stateOf)), destination.health?.last?.state ?? 'healthy'),
    check: destination.health?.last,
    inFlight: slots.inUse,
    slots: slots.limit,
    waitingForSlot: slots.waiting,
    groups: [...destination.groups].map(([group, { slots: own }]) => ({
      ...{ name: group, inFlight: own.inUse, slots: own.limit, waitingForSlot: own.waiting },
    })),
    targets: destination.targets(nowMs),
    breakers,
    lastError: errors.get(name),
  };
}

function stateOf({ state, forced, calls, failures }: ApiHealth['breakers'][number]): HealthState {
  if (forced === 'open' || (forced === undefined && state === 'open')) return 'down';
  const failing = calls >= fewCalls && failures / calls > unhealthyRatio;
  return failing || (forced === undefined && state !== 'closed') ? 'unhealthy' : 'healthy';
}

// One API group that is down leaves the others of its upstream.
function worstOf(states: readonly HealthState[]): HealthState {
  if (states.length > 0 && states.every((state) => state === 'down')) return 'down';
  return states.every((state) => state === 'healthy') ? 'healthy' : 'unhealthy';
}

function lastErrors({ lanes }: Pick<House, 'lanes'>): Map<string, Attempt> {
  const newest = new Map<string, Attempt>();
  for (const { item } of lanes.entries()) {
    const last = item.kind === 'call' ? item.attempts.at(-1) : undefined;
    if (item.kind !== 'call' || last === undefined || last.class === 'success') continue;
    const { name } = item.destination;
    if (last.started > (newest.get(name)?.started ?? '')) newest.set(name, last);
  }
  return newest;
}
