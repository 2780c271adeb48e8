import type { House } from '../../pipeline/house.ts';

import type { Tally } from './tally.ts';

/** Where the run stands at one moment. */
export interface Progress {
  readonly calls: number;
  readonly elapsedMs: number;
  /** Calls with a durable terminal record. */
  readonly ended: number;
  readonly deadLetters: number;
  readonly attempts: number;
  /** Repeated attempts, but for those after a refusal. */
  readonly retries: number;
  readonly refusals: number;
  /** Repeats that the platform answered with the first effect. */
  readonly replays: number;
  readonly inFlight: number;
  /** Chats whose next call waits, by what for. */
  readonly waiting: Readonly<Record<Waiting, number>>;
  /** Calls behind another one of their chat. */
  readonly behind: number;
  readonly breakers: readonly { readonly name: string; readonly state: string; readonly failingShare: number }[];
}

/** What a chat waits for. */
type Waiting = 'quota' | 'retry' | 'breaker' | 'slot';

// The first word of a waiting room's name says what its lanes wait for.
const roomKinds: Readonly<Record<string, Waiting>> = { limit: 'quota', breaker: 'breaker' };

/** Looks at the worker's parts and counters. `replays` comes from the sandbox, which alone knows. */
export function progressOf(house: House, tally: Tally, calls: number, elapsedMs: number, replays: number): Progress {
  const { queued, lanes, rooms } = house.lanes.stats();
  const waiting: Record<Waiting, number> = { quota: 0, retry: lanes.asleep, breaker: 0, slot: 0 };
  for (const { room, lanes: waiters } of rooms) waiting[roomKinds[room.split(':')[0] ?? ''] ?? 'slot'] += waiters;
  const nowMs = house.clock.now();
  const destinations = [...house.destinations.values()];
  return {
    calls,
    elapsedMs,
    ended: tally.sum('larkspur_records_ended_total'),
    deadLetters: tally.sum('larkspur_records_ended_total', { ending: 'dead-letter' }),
    attempts: tally.sum('larkspur_attempts_total'),
    ...repeats(tally),
    replays,
    inFlight: destinations.reduce((sum, { slots }) => sum + slots.inUse, 0),
    waiting,
    behind: Math.max(0, queued - lanes.asleep - lanes.waiting - lanes.ready),
    breakers: destinations.flatMap(({ breakers }) =>
      [...(breakers?.entries() ?? [])].map(([key, breaker]) => {
        const { state, calls: seen, failures } = breaker.snapshot(nowMs);
        return { name: key.slice(key.indexOf('/') + 1), state, failingShare: seen === 0 ? 0 : failures / seen };
      }),
    ),
  };
}

/** Refusals, and repeated attempts of the other kind. */
export function repeats(tally: Tally): { readonly retries: number; readonly refusals: number } {
  return {
    retries: tally.sum('service_retry_total') - tally.sum('service_retry_total', { error_type: 'rate_limited' }),
    refusals: tally.sum('larkspur_attempts_total', { class: 'rate-limited' }),
  };
}
