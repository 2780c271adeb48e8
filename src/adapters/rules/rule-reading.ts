import { LarkspurError, messageOf } from '../../model/errors.ts';
import { type Rule, rulesIn, type RuleSnapshot, snapshotOf } from '../../model/rule.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Histogram, Metrics } from '../../ports/metrics.ts';
import type { Random } from '../../ports/random.ts';
import type { RuleShelf } from '../../ports/rule-shelf.ts';
import type { RuleSource } from '../../ports/rule-source.ts';

/** What is read, sorted into what can be used and what cannot. */
export interface CheckedRules {
  readonly rules: readonly Rule[];
  /** Why a rule was not taken, by its name or place. */
  readonly refused: readonly { readonly rule: string; readonly message: string }[];
}

/** What a {@link RuleReading} stands on. */
export interface RuleReadingParts {
  readonly source: RuleSource;
  /** Where other processes put what they have read. */
  readonly shelf: Pick<RuleShelf, 'ready' | 'state' | 'readAll'>;
  /** @param before the rules of the last reading: one that is wrong now stays as it was */
  readonly check: (raw: readonly unknown[], before: readonly Rule[]) => CheckedRules;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}

const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
// After a failure nobody asks for a while: the source may be down because it was asked too much.
const pauseMs = { first: 1_000, longest: 30_000 };

/** Reads the source of all rules: once at a time whoever asks, and after a failure not at once again. */
export class RuleReading {
  readonly #parts: RuleReadingParts;
  readonly #seconds: Histogram;
  readonly #failures: { add(labels: Record<string, never>): void };
  #under: Promise<RuleSnapshot> | undefined;
  #failed: { readonly error: LarkspurError; readonly untilMs: number; readonly times: number } | undefined;
  #rules: readonly Rule[] = [];
  #last: { readonly snapshot: RuleSnapshot; readonly atMs: number } | undefined;
  #refused = 0;

  constructor(parts: RuleReadingParts) {
    this.#parts = parts;
    const { metrics } = parts;
    this.#seconds = metrics.histogram(
      'rule_source_query_seconds',
      'Time that the source of the rules took, to its answer or to the end of its time',
      [],
      secondsBuckets,
    );
    this.#failures = metrics.counter('larkspur_rule_source_failures_total', 'Readings of the rules that failed', []);
    metrics.gauge('larkspur_rules_refused', 'Rules that the source holds and that are wrong', [], () => [
      [{}, this.#refused],
    ]);
  }

  /** Why the last reading failed; `undefined`: it did not. */
  get failure(): LarkspurError | undefined {
    return this.#failed?.error;
  }

  /** What this process read last. */
  get last(): RuleSnapshot | undefined {
    return this.#last?.snapshot;
  }

  /** Reads all rules. Rejects with a `LarkspurError` where the source does not give them. */
  read(): Promise<RuleSnapshot> {
    const { clock } = this.#parts;
    if (this.#failed !== undefined && clock.now() < this.#failed.untilMs) return Promise.reject(this.#failed.error);
    this.#under ??= this.#readNow().finally(() => (this.#under = undefined));
    return this.#under;
  }

  /** What was read within `ageMs`, else what is read now; where that fails, what was read before. */
  async readWithin(ageMs: number): Promise<RuleSnapshot> {
    const last = this.#last;
    if (last !== undefined && this.#parts.clock.now() - last.atMs < ageMs) return last.snapshot;
    try {
      return await this.read();
    } catch (error) {
      if (last !== undefined) return last.snapshot;
      throw error;
    }
  }

  async #readNow(): Promise<RuleSnapshot> {
    const { source, check, clock, log } = this.#parts;
    const startMs = clock.now();
    const exportedAtMs = clock.wall();
    try {
      const raw = await source.readAll().finally(() => this.#seconds.observe({}, (clock.now() - startMs) / 1_000));
      const { rules, refused } = check(raw, await this.#before());
      for (const { rule, message } of refused.slice(0, 20)) log.warn({ source: source.name, rule }, message);
      if (this.#failed !== undefined) log.info({ source: source.name }, 'the source of the rules answers again');
      this.#failed = undefined;
      this.#refused = refused.length;
      this.#rules = rules;
      const snapshot = snapshotOf(rules, exportedAtMs);
      this.#last = { snapshot, atMs: clock.now() };
      return snapshot;
    } catch (error) {
      throw this.#note(error);
    }
  }

  /** The rules as they were: what this process has read, or what another one has exported since. */
  async #before(): Promise<readonly Rule[]> {
    const { shelf } = this.#parts;
    const readAtMs = this.#last?.snapshot.exportedAtMs ?? -Infinity;
    try {
      const state = shelf.ready() ? await shelf.state() : undefined;
      const shelved = state !== undefined && state.exportedAtMs > readAtMs ? await shelf.readAll() : undefined;
      return shelved === undefined ? this.#rules : [...shelved.buckets.values()].flatMap((text) => rulesIn(text));
    } catch {
      return this.#rules;
    }
  }

  #note(thrown: unknown): LarkspurError {
    const { source, clock, random, log } = this.#parts;
    const error = thrown instanceof LarkspurError ? thrown : new LarkspurError('internal', messageOf(thrown));
    const times = (this.#failed?.times ?? 0) + 1;
    const capMs = Math.min(pauseMs.longest, pauseMs.first * 2 ** (times - 1));
    this.#failures.add({});
    if (times === 1) {
      const { message, cure } = error;
      log.warn({ source: source.name, error: message, cure }, 'the rules cannot be read; those that are known stay');
    }
    this.#failed = { error, times, untilMs: clock.now() + capMs * (0.5 + random.next() / 2) };
    return error;
  }
}
