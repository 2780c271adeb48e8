import {
  causes,
  type HostCounts,
  type MinuteView,
  noSums,
  type SlowCall,
  slowestKept,
  slowestOf,
  type Sums,
  sumOf,
} from '../../model/spike.ts';
import { isoTime } from '../../model/time.ts';
import type { Clock } from '../../ports/clock.ts';
import { placeText } from '../explain/places.ts';
import type { Job } from '../job.ts';

interface Minute {
  /** Minutes since the epoch. */
  readonly number: number;
  readonly sums: ReturnType<typeof noSums>;
  slowest: readonly SlowCall[];
  /** What the host had counted when it began. */
  readonly host: HostCounts;
}

const minuteMs = 60_000;
const minutesKept = 24 * 60;
const minutesBefore = 60;

/**
 * What calls spent their time with, minute by minute of the last 24 hours, by when they ended: a few numbers each, so that at
 * night somebody can be told what stood together. Of this process alone, and forgotten with it.
 */
export class MinuteBook {
  readonly #clock: Clock;
  readonly #host: () => HostCounts;
  readonly #minutes: (Minute | undefined)[] = [];

  /** @param host counters of the machine that only grow; asked once a minute */
  constructor(clock: Clock, host: () => HostCounts = () => ({})) {
    this.#clock = clock;
    this.#host = host;
  }

  /** A call has its durable end. */
  ended(job: Job): void {
    const minute = this.#current();
    const { sums } = minute;
    const { spent, received } = job;
    const nowMs = this.#clock.now();
    const readAtWallMs = this.#clock.wall() - (nowMs - received.readAtMs);
    const totalMs = spent.ended(nowMs, readAtWallMs - received.record.timestampMs);
    sums.calls++;
    sums.totalMs += totalMs;
    sums.attempts += job.attemptsMade;
    sums.serverErrors += spent.serverErrors;
    sums.networkErrors += spent.networkErrors;
    for (const cause of causes) sums.causeMs[cause] += spent.causeMs[cause];
    const { slowest } = minute;
    if (slowest.length < slowestKept || totalMs > (slowest.at(-1)?.totalMs ?? 0)) {
      minute.slowest = slowestOf([...slowest, slowCall(job, totalMs)]);
    }
  }

  /** What is known of the minute that holds a moment; `undefined` where no call ended in it. @param wallMs epoch milliseconds */
  view(wallMs: number): MinuteView | undefined {
    const number = Math.floor(wallMs / minuteMs);
    const minute = this.#at(number);
    if (minute === undefined) return undefined;
    const earlier = Array.from({ length: minutesBefore }, (_, back) => this.#at(number - 1 - back)).filter(
      (one) => one !== undefined,
    );
    // The quieter half: a spike that lasts must not be what it is compared with.
    const quiet = earlier.sort((a, b) => mean(a.sums) - mean(b.sums)).slice(0, Math.ceil(earlier.length / 2));
    const host = this.#hostCounts(minute);
    const hostBefore = quiet.map((one) => this.#hostCounts(one)).filter((one) => one !== undefined);
    return {
      minute: isoTime(number * minuteMs),
      at: minute.sums,
      before: { ...sumOf(quiet.map(({ sums }) => sums)), minutes: quiet.length },
      slowest: minute.slowest,
      ...(host === undefined || hostBefore.length === 0 ? {} : { host: { at: host, before: meanOf(hostBefore) } }),
    };
  }

  #current(): Minute {
    const number = Math.floor(this.#clock.wall() / minuteMs);
    const slot = number % minutesKept;
    const known = this.#minutes[slot];
    if (known?.number === number) return known;
    return (this.#minutes[slot] = { number, sums: noSums(), slowest: [], host: this.#host() });
  }

  #at(number: number): Minute | undefined {
    const minute = this.#minutes[((number % minutesKept) + minutesKept) % minutesKept];
    return minute?.number === number ? minute : undefined;
  }

  /** What the host counted from the beginning of a minute to that of the next; `undefined` unless calls ended in both. */
  #hostCounts({ number, host }: Minute): HostCounts | undefined {
    const next = this.#at(number + 1)?.host;
    if (next === undefined) return undefined;
    return Object.fromEntries(Object.entries(host).map(([name, count]) => [name, (next[name] ?? count) - count]));
  }
}

function slowCall({ id, received, destination, spent: { causeMs } }: Job, totalMs: number): SlowCall {
  const cause = causes.reduce((one, other) => (causeMs[other] > causeMs[one] ? other : one));
  const { trace, held, record } = received;
  return {
    id,
    at: placeText(held?.first ?? record),
    upstream: destination.name,
    totalMs: Math.round(totalMs),
    cause,
    causeMs: Math.round(causeMs[cause]),
    ...(trace === undefined ? {} : { traceId: trace.traceId }),
  };
}

function mean({ calls, totalMs }: Sums): number {
  return calls === 0 ? 0 : totalMs / calls;
}

function meanOf(all: readonly HostCounts[]): HostCounts {
  const names = Object.keys(all[0] ?? {});
  return Object.fromEntries(
    names.map((name) => [name, all.reduce((sum, one) => sum + (one[name] ?? 0), 0) / all.length]),
  );
}
