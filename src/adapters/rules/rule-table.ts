import { Observable } from 'rxjs';

import { messageOf } from '../../model/errors.ts';
import type { Event } from '../../model/event.ts';
import { isFor, type RouteSpec } from '../../model/route.ts';
import { bucketsFor, byPosition, type Rule, rulesIn } from '../../model/rule.ts';
import { HotKeys } from '../../operators/cache/hot-keys.ts';
import type { NearCacheBounds } from '../../operators/cache/near-cache.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { EventRoutes } from '../../ports/event-routes.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Counter, Metrics } from '../../ports/metrics.ts';
import type { Random } from '../../ports/random.ts';
import type { Route } from '../../ports/route.ts';
import type { RuleShelf } from '../../ports/rule-shelf.ts';
import { type Loaded, LoadingCache } from '../system/loading-cache.ts';

import type { RuleReading } from './rule-reading.ts';

/** What a {@link RuleTable} stands on. */
export interface RuleTableParts {
  readonly shelf: RuleShelf;
  readonly reading: RuleReading;
  /** Makes a rule ready to run; throws where it cannot be. */
  readonly open: (spec: RouteSpec) => Route;
  /** Told that there is nothing on the shelf. */
  readonly onGone: () => void;
  readonly bounds: NearCacheBounds;
  /** A rule is looked at again so long after it was written here. */
  readonly freshMs: number;
  /** What was not asked for in so long is asked for again before it serves. */
  readonly idleMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The rules of a bucket as this process keeps them. */
interface Bucket {
  readonly text: string;
  readonly rules: readonly OpenRule[];
  readonly readAtMs: number;
  /** The tier that was asked for it. */
  readonly from: Tier;
}

interface OpenRule extends Rule {
  readonly route: Route;
}

type Tier = 'memory' | 'shared' | 'source';

const againMs = { first: 50, longest: 2_000 };
const fillAgainMs = 250;
// Long enough for another process to read the source and write the shelf.
const attemptsAtShelf = 8;
// An expression that is ready to run takes several times its text.
const openFactor = 6;
// What this process reads from the shelf more often than that is read by the others as often.
const spreadPerSecond = 10;

/**
 * Rules for events through three tiers: the memory of this process, which serves on while one look goes on behind; the shelf that
 * all share; the source itself, where the shelf is empty or away. An event of which nobody can tell waits until somebody can.
 */
export class RuleTable implements EventRoutes {
  readonly #parts: RuleTableParts;
  readonly #near: LoadingCache<Bucket>;
  readonly #lookups: Counter;
  // What was read from the shelf, by bucket: asked of it again and again is what this process routes all the time.
  readonly #reads = new HotKeys({ share: 0, perSecond: spreadPerSecond });
  #warm = false;
  #stopped = false;
  #cancel: () => void = () => undefined;

  constructor(parts: RuleTableParts) {
    this.#parts = parts;
    const { bounds, clock, metrics, freshMs, random } = parts;
    this.#near = new LoadingCache<Bucket>({
      ...{ bounds, clock },
      sizeOf: ({ text }) => text.length * openFactor,
      ready: () => true,
      againMs: () => freshMs * (1 + random.next() / 5),
      load: (bucket, kept) => this.#load(bucket, kept()),
    });
    this.#lookups = metrics.counter(
      'route_lookup_total',
      'Events whose rules were looked up, by the last tier that had to be asked: memory, shared, source',
      ['tier'],
    );
    metrics.gauge('larkspur_rules_near', 'Buckets of rules in the memory of this process', [], () => [
      [{}, this.#near.size],
    ]);
  }

  /** Whether it was filled once. */
  get warm(): boolean {
    return this.#warm;
  }

  /** Fills the memory with what the shelf holds, else with what the source gives; tries until one of them does, or until it is stopped. */
  start(): void {
    const attempt = async (n: number): Promise<void> => {
      await this.#fill(n >= attemptsAtShelf).catch(() => undefined);
      if (!this.#warm && !this.#stopped)
        this.#cancel = this.#parts.timers.after(fillAgainMs, () => void attempt(n + 1));
    };
    void attempt(0);
  }

  /** Tries no more to fill the memory. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  routesFor(event: Pick<Event, 'app' | 'type'>): readonly Route[] | Observable<readonly Route[]> {
    const buckets = bucketsFor(event).map((bucket) => this.#here(bucket) ?? bucket);
    if (buckets.some((bucket) => typeof bucket === 'string')) return this.#wait(event, buckets);
    this.#lookups.add({ tier: 'memory' satisfies Tier });
    return routesIn(event, buckets);
  }

  /** What memory has of a bucket and may serve. */
  #here(bucket: string): Bucket | undefined {
    const { clock, idleMs, shelf } = this.#parts;
    const known = this.#near.known(bucket)?.value;
    if (known === undefined || (clock.now() - known.readAtMs >= idleMs && shelf.ready())) return undefined;
    return known;
  }

  /** @param buckets those that memory has, and the names of the others */
  #wait(event: Pick<Event, 'app' | 'type'>, buckets: readonly (Bucket | string)[]): Observable<readonly Route[]> {
    return new Observable((subscriber) => {
      const { timers, random } = this.#parts;
      let tier: Tier = 'shared';
      let cancel = (): void => undefined;
      const look = async (bucket: Bucket | string): Promise<Bucket | string> => {
        if (typeof bucket !== 'string') return bucket;
        // What was kept for long serves where nothing newer is to be had.
        const found = await this.#near.look(bucket).catch(() => this.#near.known(bucket));
        if (found?.value?.from === 'source') tier = 'source';
        return found?.value ?? bucket;
      };
      const attempt = async (n: number): Promise<void> => {
        const found = await Promise.all(buckets.map(look));
        if (subscriber.closed) return;
        if (found.every((bucket) => typeof bucket !== 'string')) {
          this.#lookups.add({ tier });
          subscriber.next(routesIn(event, found));
          subscriber.complete();
          return;
        }
        const waitMs = Math.min(againMs.longest, againMs.first * 2 ** Math.min(n, 10));
        cancel = timers.after(waitMs * (0.5 + random.next() / 2), () => void attempt(n + 1));
      };
      void attempt(0);
      return () => cancel();
    });
  }

  async #load(bucket: string, kept: Bucket | undefined): Promise<Loaded<Bucket>> {
    const { shelf, clock, onGone } = this.#parts;
    if (shelf.ready()) {
      const nowMs = clock.now();
      this.#reads.count(bucket, nowMs);
      const shelved = await shelf.read(bucket, this.#reads.isHot(bucket, nowMs)).catch(() => undefined);
      if (shelved?.kind === 'gone') onGone();
      else if (shelved !== undefined) return this.#loaded(shelved.kind === 'rules' ? shelved.text : '', kept, 'shared');
    }
    if (kept !== undefined) return 'keep';
    return this.#inSource(bucket);
  }

  async #inSource(bucket: string): Promise<Loaded<Bucket>> {
    const { reading, idleMs } = this.#parts;
    const before = reading.last;
    const snapshot = await reading.readWithin(idleMs);
    // What was read a moment ago for somebody else costs no question.
    return this.#loaded(snapshot.buckets.get(bucket) ?? '', undefined, snapshot === before ? 'shared' : 'source');
  }

  async #fill(mayAskSource: boolean): Promise<void> {
    const { shelf, reading, onGone, idleMs, bounds } = this.#parts;
    let snapshot = shelf.ready() ? await shelf.readAll().catch(() => undefined) : undefined;
    if (snapshot === undefined) {
      // One process reads the source for all; where that takes long, or nobody can share, each reads for itself.
      onGone();
      if (!mayAskSource && shelf.ready()) return;
      snapshot = await reading.readWithin(idleMs);
    }
    for (const [bucket, text] of snapshot.buckets) {
      if (this.#near.size >= bounds.maxEntries) break;
      this.#keep(bucket, text, undefined);
    }
    this.#warm = true;
  }

  #keep(bucket: string, text: string, kept: Bucket | undefined): void {
    const { value, ...life } = this.#loaded(text, kept, 'shared');
    this.#near.put(bucket, value, life);
  }

  #loaded(text: string, kept: Bucket | undefined, from: Tier): Exclude<Loaded<Bucket>, 'keep'> {
    const { clock, freshMs, random } = this.#parts;
    const rules = kept?.text === text ? kept.rules : this.#open(text, kept);
    const value = { text, rules, readAtMs: clock.now(), from };
    // Kept as long as there is room: old rules are better than none while nobody can tell newer ones.
    return { value, freshMs: freshMs * (1 + random.next() / 5), lifeMs: Infinity };
  }

  /** A rule that is as it was is not made ready anew. */
  #open(text: string, kept: Bucket | undefined): readonly OpenRule[] {
    const { open, log } = this.#parts;
    const before = new Map(kept?.rules.map((rule) => [JSON.stringify(rule.spec), rule]));
    return rulesIn(text).flatMap(({ spec, position }): readonly OpenRule[] => {
      try {
        return [{ spec, position, route: before.get(JSON.stringify(spec))?.route ?? open(spec) }];
      } catch (error) {
        log.warn({ rule: spec.name, error: messageOf(error) }, 'a rule cannot be used by this process');
        return [];
      }
    });
  }
}

function routesIn(event: Pick<Event, 'app' | 'type'>, buckets: readonly (Bucket | string)[]): readonly Route[] {
  return buckets
    .flatMap((bucket) => (typeof bucket === 'string' ? [] : bucket.rules))
    .filter(({ spec }) => isFor(spec, event))
    .sort(byPosition)
    .map(({ route }) => route);
}
