import type { Outcome } from './simulate.ts';

/** What many runs came to. */
export interface Tally {
  worlds: number;
  calls: number;
  attempts: number;
  effects: number;
  events: number;
  /** Worlds in which a guarantee broke, by its name. */
  readonly broken: Record<string, number>;
  readonly failing: number[];
}

export function emptyTally(): Tally {
  return { worlds: 0, calls: 0, attempts: 0, effects: 0, events: 0, broken: {}, failing: [] };
}

export function addTo(tally: Tally, { seed, calls, attempts, effects, events, violation }: Outcome): void {
  tally.worlds++;
  tally.calls += calls;
  tally.attempts += attempts;
  tally.effects += effects;
  tally.events += events;
  if (violation === undefined) return;
  tally.broken[violation.guarantee] = (tally.broken[violation.guarantee] ?? 0) + 1;
  tally.failing.push(seed);
}
