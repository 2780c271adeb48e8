import { isoTime } from '../../model/time.ts';
import type { House } from '../../pipeline/house.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetricsReader } from '../../ports/metrics.ts';
import type { NamedSlo } from '../stability/slos.ts';
import type { Scores } from '../stability/stability.ts';

/** Something that happened, in words. */
export interface Happening {
  readonly at: string;
  /** What it is about: `upstream/news`, `redis`, `slo/upstream/news`. */
  readonly what: string;
  readonly says: string;
}

/** What a chronicle looks at. */
export interface ChronicleParts {
  readonly house: Pick<House, 'destinations'>;
  readonly reader: MetricsReader;
  readonly clock: Clock;
  readonly scores: () => Scores;
  readonly slos: () => readonly NamedSlo[];
}

// About a month of a process with a bad day each week.
const mostKept = 5_000;
const bands = [90, 75, 50, 25];

/** Writes down what changes from look to look: breakers, scores, budgets, Redis. The newest 5,000 are kept in the process. */
export class Chronicle {
  readonly #parts: ChronicleParts;
  readonly #kept: Happening[] = [];
  readonly #seen = new Map<string, string>();

  constructor(parts: ChronicleParts) {
    this.#parts = parts;
  }

  /** Looks; to be called once a second. */
  look(): void {
    const { house, reader, clock, scores, slos } = this.#parts;
    const nowMs = clock.now();
    for (const { name, breakers } of house.destinations.values()) {
      for (const [key, breaker] of breakers?.entries() ?? []) {
        const { state, forced } = breaker.snapshot(nowMs);
        const now = forced === undefined ? state : `held ${forced}`;
        this.#note(`upstream/${name}`, `breaker ${key}`, now, 'closed');
      }
    }
    for (const { upstream, score } of scores().upstreams) {
      this.#note(`upstream/${upstream}`, 'health score', bandOf(score), bandOf(100));
    }
    for (const { name, burns } of slos()) {
      const severity = burns.find(({ burning }) => burning)?.severity;
      this.#note(
        `slo/${name}`,
        'error budget',
        severity === undefined ? 'as it should' : `burns (${severity})`,
        'as it should',
      );
    }
    const away = [...reader.samples('larkspur_redis_degraded')][0]?.[1] === 1;
    this.#note('redis', 'Redis', away ? 'away' : 'there', 'there');
  }

  /** What happened from `from` to `to`, ISO 8601, oldest first. */
  between(from: string, to: string): readonly Happening[] {
    return this.#kept.filter(({ at }) => at >= from && at <= to);
  }

  /** @param usual what need not be told when nothing else was seen before */
  #note(what: string, about: string, now: string, usual: string): void {
    const key = `${what} ${about}`;
    const before = this.#seen.get(key) ?? usual;
    if (before === now) return;
    this.#seen.set(key, now);
    if (this.#kept.length >= mostKept) this.#kept.shift();
    this.#kept.push({ at: isoTime(this.#parts.clock.wall()), what, says: `${about}: ${before} -> ${now}` });
  }
}

function bandOf(score: number): string {
  const under = bands.findLast((band) => score < band);
  return under === undefined ? '90 or more' : `below ${under}`;
}
