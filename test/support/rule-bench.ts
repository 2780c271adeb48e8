import { isObservable, of } from 'rxjs';

import { openEmbedded } from '../../src/adapters/embedded/embedded.ts';
import { MemoryRuleShelf } from '../../src/adapters/embedded/rule-shelf.ts';
import { createMetrics } from '../../src/adapters/prometheus/metrics.ts';
import { RuleExport } from '../../src/adapters/rules/rule-export.ts';
import { RuleReading } from '../../src/adapters/rules/rule-reading.ts';
import { RuleTable } from '../../src/adapters/rules/rule-table.ts';
import { tableRules } from '../../src/config/route-table.ts';
import { LarkspurError } from '../../src/model/errors.ts';
import type { Route } from '../../src/ports/route.ts';
import type { RuleShelf, Shelved } from '../../src/ports/rule-shelf.ts';

import { only } from './only.ts';
import { RememberingLogger } from './remembering-logger.ts';
import { seededRandom, VirtualTime } from './virtual-time.ts';

/** A source whose answers are given. */
export class GivenSource {
  readonly name = 'given';
  rules: readonly unknown[] = [];
  reads = 0;
  /** `undefined`: it answers. */
  down: string | undefined;
  readonly #time: VirtualTime;
  /** How long it takes. */
  takesMs = 0;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  async readAll(): Promise<readonly unknown[]> {
    this.reads++;
    if (this.takesMs > 0) await new Promise<void>((resolve) => void this.#time.after(this.takesMs, resolve));
    if (this.down !== undefined) throw new LarkspurError('rules_unavailable', this.down, { retryable: true });
    return this.rules;
  }
}

/** The real shelf of one process, which may go away, and takes its time. */
export class TiredShelf implements RuleShelf {
  readonly #shelf: MemoryRuleShelf;
  readonly #time: VirtualTime;
  away = false;
  takesMs = 0;
  reads = 0;
  /** Reads that are under way, and the most that ever were for one bucket. */
  readonly #under = new Map<string, number>();
  mostAtOnce = 0;

  constructor(time: VirtualTime) {
    this.#time = time;
    this.#shelf = new MemoryRuleShelf(time);
  }

  async read(bucket: string): Promise<Shelved> {
    this.reads++;
    const under = (this.#under.get(bucket) ?? 0) + 1;
    this.#under.set(bucket, under);
    this.mostAtOnce = Math.max(this.mostAtOnce, under);
    try {
      await this.#pass();
      return await this.#shelf.read(bucket);
    } finally {
      this.#under.set(bucket, (this.#under.get(bucket) ?? 1) - 1);
    }
  }

  readonly readAll = (): ReturnType<RuleShelf['readAll']> => this.#pass().then(() => this.#shelf.readAll());
  readonly state = (): ReturnType<RuleShelf['state']> => this.#pass().then(() => this.#shelf.state());
  readonly write: RuleShelf['write'] = (...args) => this.#pass().then(() => this.#shelf.write(...args));
  readonly renew: RuleShelf['renew'] = (ttlMs) => this.#pass().then(() => this.#shelf.renew(ttlMs));

  ready(): boolean {
    return !this.away;
  }

  async #pass(): Promise<void> {
    if (this.away) throw new LarkspurError('redis_unavailable', 'away', { retryable: true });
    if (this.takesMs > 0) await new Promise<void>((resolve) => void this.#time.after(this.takesMs, resolve));
  }
}

/** The three tiers of one process in virtual time. */
export class RuleBench {
  readonly time = new VirtualTime();
  readonly source = new GivenSource(this.time);
  readonly shelf = new TiredShelf(this.time);
  readonly log = new RememberingLogger();
  readonly metrics = createMetrics({ processMetrics: false });
  readonly store = openEmbedded({
    ...{ data: 'memory', clock: this.time, timers: this.time, logger: this.log, topics: [] },
  });
  opened = 0;
  gone = 0;

  /** One process; several share shelf and source. */
  process(name: string, more: { entries?: number; exportMs?: number } = {}) {
    const { time, shelf, source, log } = this;
    const metrics = name === 'a' ? this.metrics : createMetrics({ processMetrics: false });
    const world = { clock: time, timers: time, random: seededRandom(name.length), log, metrics };
    const config = { routes: [], upstreams: {} };
    const reading = new RuleReading({
      ...{ ...world, source, shelf },
      check: (raw, before) => tableRules(raw, before, config, () => undefined),
    });
    const exported = new RuleExport({
      ...{ ...world, shelf, reading, process: name, claims: this.store.tokenClaims },
      ...{ exportMs: more.exportMs ?? 3_600_000, ttlMs: 300_000 },
    });
    const table = new RuleTable({
      ...{ ...world, shelf, reading, freshMs: 50, idleMs: 300_000 },
      open: (spec) => {
        this.opened++;
        const opened = {
          spec,
          fits: () => of({ kind: 'fits' } as const),
          act: () => of({ kind: 'done', calls: [], answer: undefined } as const),
        } satisfies Route;
        return opened;
      },
      onGone: () => {
        this.gone++;
        exported.poke();
      },
      bounds: { maxEntries: more.entries ?? 10_000, maxBytes: 64 * 1_048_576 },
    });
    const start = async (): Promise<void> => {
      exported.start();
      table.start();
      for (let n = 0; n < 40 && !table.warm; n++) await time.advanceAsync(100);
    };
    /** Names of the routes for an event, and whether they were known at once. */
    const routes = async (type: string, app = 'cli_a'): Promise<{ names: string[]; atOnce: boolean }> => {
      const found$ = table.routesFor({ type, app });
      const atOnce = !isObservable(found$);
      const routed = isObservable(found$) ? await only(found$) : found$;
      return { names: routed.map(({ spec }) => spec.name), atOnce };
    };
    return { reading, exported, table, start, routes };
  }

  /** Of `route_lookup_total` of the process `a`. */
  async lookups(): Promise<Record<string, number>> {
    const text = await this.metrics.text();
    const found = [...text.matchAll(/route_lookup_total\{tier="(\w+)"\} (\d+)/g)];
    return Object.fromEntries(found.map(([, tier = '', count]) => [tier, Number(count)] as const));
  }
}

/** A rule that copies events of a type. */
export const rule = (name: string, on: string, more: object = {}) => ({ name, on, topic: 'copies', ...more });
