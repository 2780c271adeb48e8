import { isDeepStrictEqual } from 'node:util';

import { defer, map, type Observable, of } from 'rxjs';

import type { FaultDesk, FaultOrder, FaultOrdered } from '../../adapters/http/fault-routes.ts';
import type { ChaosConfig } from '../../config/config.ts';
import { readFaultRules } from '../../config/fault-rules.ts';
import { LarkspurError } from '../../model/errors.ts';
import { type FaultSubject, type InjectedFault, waitingAtMost } from '../../model/injected-fault.ts';
import { isoTime } from '../../model/time.ts';
import { InjectedFaults } from '../../operators/fault/faulty-upstream.ts';
import { type RulesWatch, watchRules } from '../../sandbox/faults/watch-rules.ts';
import type { Audit } from '../audit.ts';
import type { Hands } from '../playbooks/actions.ts';
import type { WorldParts } from '../stores.ts';

const faultsAreOff = 'calls of this process never fail on purpose; chaos.injectFaults is not true';
const processEnds = 'calls of this process no longer fail on purpose; it ends';

/**
 * Faults on purpose of one process: those of a file, which is followed, and those that somebody ordered, which go by themselves when
 * their time is over. With `injectFaults: false` there are never any. Who makes one stops it.
 */
export class Faults implements Pick<InjectedFaults, 'decide'> {
  readonly #config: ChaosConfig;
  readonly #parts: WorldParts;
  readonly #book: InjectedFaults;
  readonly #counter;
  #ordered: { readonly rules: readonly InjectedFault[]; readonly by: string; readonly untilWallMs: number } | undefined;
  #ofFile: readonly InjectedFault[] = [];
  #watch: Promise<RulesWatch> | undefined;
  #mistakes: () => readonly string[] = () => [];
  #cancel = (): void => undefined;
  #stopped = false;

  constructor(config: ChaosConfig, parts: WorldParts) {
    this.#config = config;
    this.#parts = parts;
    this.#book = new InjectedFaults(parts.random);
    this.#counter = parts.metrics.counter('larkspur_faults_injected_total', 'Attempts that failed on purpose', [
      'upstream',
      'kind',
    ]);
    const { injectFaults, faultsFile } = config;
    if (!injectFaults || faultsFile === undefined) return;
    this.#watch = watchRules(
      faultsFile,
      parts.timers,
      readFaultRules,
      (rules) => {
        this.#ofFile = rules;
        this.#apply();
        parts.log.warn({ faultsFile, rules }, 'the file of faults on purpose was read');
      },
      (mistakes) => parts.log.warn({ faultsFile, mistakes }, 'the file of faults has mistakes; the rules before stay'),
    );
    void this.#watch.then((watch) => {
      this.#mistakes = () => watch.mistakes;
    });
  }

  /** Whether attempts need to be asked about at all. */
  get enabled(): boolean {
    return this.off === undefined;
  }

  /** Why there are none and will be none; `undefined`: there may be some. */
  get off(): string | undefined {
    if (!this.#config.injectFaults) return faultsAreOff;
    return this.#stopped ? processEnds : undefined;
  }

  decide(subject: FaultSubject): InjectedFault | undefined {
    const rule = this.#book.decide(subject);
    if (rule !== undefined) this.#counter.add({ upstream: subject.upstream ?? 'none', kind: rule.kind });
    return rule;
  }

  /** Rules in force, what they did, until when, as JSON. */
  show() {
    return {
      enabled: this.enabled,
      rules: this.#book.rules,
      counts: this.#book.counts,
      orderedBy: this.#ordered?.by,
      until: this.#ordered === undefined ? undefined : isoTime(this.#ordered.untilWallMs),
      fileMistakes: this.#mistakes(),
    };
  }

  /**
   * Those rules hold beside those of the file from now on, instead of what was ordered before. Where the same person or run
   * changes an order, rules that stay go on counting; the same order once more begins anew.
   */
  order(rules: readonly InjectedFault[], by: string, forMs: number): void {
    if (this.#stopped) return;
    this.#cancel();
    // What they tell callers to wait must not go on for long after them.
    const capped = rules.map((rule) => waitingAtMost(rule, forMs));
    const kept = this.#ordered?.by === by ? staying(capped, this.#ordered.rules) : capped;
    this.#ordered = rules.length === 0 ? undefined : { rules: kept, by, untilWallMs: this.#parts.clock.wall() + forMs };
    this.#apply();
    if (this.#ordered === undefined) return;
    // Who ordered them may be dead by then.
    this.#cancel = this.#parts.timers.after(forMs, () => {
      this.#parts.log.warn({ by }, 'faults on purpose went by themselves: their time is over');
      this.order([], by, 0);
    });
  }

  /** Ends all of them. None come after it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    this.#book.set([]);
    (await this.#watch)?.stop();
  }

  #apply(): void {
    if (this.#stopped) return;
    this.#book.change([...(this.#ordered?.rules ?? []), ...this.#ofFile]);
  }
}

/** The rules, those that were there before as the very objects that they were: an order over HTTP makes each of them anew. */
function staying(rules: readonly InjectedFault[], before: readonly InjectedFault[]): readonly InjectedFault[] {
  if (isDeepStrictEqual(rules, before)) return rules;
  const left = [...before];
  return rules.map((rule) => {
    const at = left.findIndex((one) => isDeepStrictEqual(one, rule));
    return at < 0 ? rule : (left.splice(at, 1)[0] ?? rule);
  });
}

/** Lets people and chaos runs switch faults. Acts before it writes the record on `audit`. */
export function faultDesk(faults: Faults, audit: Pick<Audit, 'written'>, { log }: Pick<WorldParts, 'log'>): FaultDesk {
  const carryOut$ = ({ rules, forMs, by, reason, requestId }: FaultOrder): Observable<FaultOrdered> => {
    if (faults.off !== undefined) return of({ kind: 'off', message: faults.off });
    const read = readFaultRules(rules);
    if (read.mistakes !== undefined) {
      return of({ kind: 'wrong', faults: read.mistakes.map((message) => ({ at: '/rules', message })) });
    }
    const from = faults.show().rules;
    faults.order(read.rules, by, forMs);
    log.warn({ rules: read.rules, forMs, by, reason }, 'faults on purpose were set');
    return audit
      .written({ by, what: 'faults', from, to: faults.show().rules, reason, requestId })
      .pipe(map((audited) => ({ kind: 'done', audited, faults: faults.show() })));
  };
  const desk: FaultDesk = { show: () => faults.show(), order: (order) => defer(() => carryOut$(order)) };
  return desk;
}

/** Lets a playbook disturb, where there may be faults. What somebody else has ordered meanwhile is theirs. */
export function disturbing(faults: Faults): Hands['disturb'] {
  return (rules, forMs, by) => {
    if (faults.off !== undefined) return Promise.reject(new LarkspurError('forbidden', faults.off));
    const read = readFaultRules(rules);
    if (read.mistakes !== undefined) {
      return Promise.reject(
        new LarkspurError('config_invalid', `a disturbance has mistakes: ${read.mistakes.join('; ')}`),
      );
    }
    faults.order(read.rules, by, forMs);
    return Promise.resolve(() => {
      if (faults.show().orderedBy === by) faults.order([], by, 0);
      return Promise.resolve();
    });
  };
}
