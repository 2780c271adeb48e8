import { tierFor } from '../../model/delay-topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { House } from '../house.ts';
import type { Decoded, Ending, Job } from '../job.ts';

/** What judging needs. */
export interface JudgeOptions {
  /** How long a call to that upstream may take from reading its record to its end; `undefined`: nobody has promised anything. */
  readonly latencyMsOf: (upstream: string) => number | undefined;
  readonly count: (upstream: string, good: boolean) => void;
  readonly clock: Clock;
}

// How calls end that are not to blame on themselves.
const broken: ReadonlySet<string> = new Set([
  'attempts_exhausted',
  'deadline_passed',
  'outcome_unknown',
  'auth_failed',
]);

/**
 * Says of each call whether its upstream kept its promise: a live answer within the time. A fallback is none. A call that
 * still waits when its time is over counts as broken then, and not again at its end: so an outage shows while it lasts. What
 * was wrong itself, was cancelled, or had been done before does not count.
 */
export class CallJudge {
  readonly #options: JudgeOptions;
  readonly #late = new WeakSet<Job>();

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /** A call has ended, or leaves for a delay topic. */
  ended(item: Decoded, ending: Ending): void {
    if (item.kind !== 'call' || this.#late.has(item)) return;
    const { latencyMsOf, count, clock } = this.#options;
    const { name } = item.destination;
    const latencyMs = latencyMsOf(name);
    if (latencyMs === undefined || wasLateBefore(item, latencyMs)) return;
    const nowMs = clock.now();
    const { readAtMs } = item.received;
    if (ending.kind === 'held') {
      const backMs = nowMs + tierFor(ending.untilMs - nowMs).waitMs;
      if (backMs - readAtMs > latencyMs) count(name, false);
      return;
    }
    const isGood = verdictOn(ending);
    if (isGood !== undefined) count(name, isGood && nowMs - readAtMs <= latencyMs);
  }

  /** Looks for calls that are over their time already; to be called once a second. */
  look({ lanes }: Pick<House, 'lanes'>): void {
    const { latencyMsOf, count, clock } = this.#options;
    const nowMs = clock.now();
    for (const { item } of lanes.entries()) {
      if (item.kind !== 'call' || this.#late.has(item)) continue;
      const latencyMs = latencyMsOf(item.destination.name);
      if (latencyMs === undefined || nowMs - item.received.readAtMs <= latencyMs) continue;
      this.#late.add(item);
      if (!wasLateBefore(item, latencyMs)) count(item.destination.name, false);
    }
  }
}

/** Whether it was counted when it left for the delay topic that it came back from. */
function wasLateBefore({ received: { held, readAtMs } }: Job, latencyMs: number): boolean {
  return held !== undefined && held.dueMs - readAtMs > latencyMs;
}

function verdictOn(ending: Ending): boolean | undefined {
  if (ending.kind === 'dead-letter') return broken.has(ending.reason) ? false : undefined;
  if (ending.kind !== 'result') return undefined;
  const { status } = ending.result;
  return status === 'ok' ? true : status === 'fallback' ? false : undefined;
}
