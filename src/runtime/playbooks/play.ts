import { isDeepStrictEqual } from 'node:util';

import type { Playbook } from '../../config/playbooks.ts';
import { messageOf } from '../../model/errors.ts';
import { Measure } from '../../operators/playbook/measure.ts';
import { Trigger, type TriggerState } from '../../operators/playbook/trigger.ts';
import type { MetricsReader } from '../../ports/metrics.ts';

import type { Action, Occasion } from './actions.ts';
import { type FleetOnce, mayHaveActed } from './fleet-once.ts';

/** What came of a step. */
export interface StepReport {
  /** What it does, in words. */
  readonly step: string;
  readonly outcome: 'done' | 'dry-run' | 'failed' | 'another worker' | 'undone' | 'not undone';
  /** Why it failed, or what undoing it did. */
  readonly detail?: string;
}

/** One run of a playbook, begun or over. */
export interface PlayReport {
  /** `again`: steps that had failed were tried again. */
  readonly state: 'ran' | 'again' | 'over';
  readonly dryRun: boolean;
  readonly value: number | undefined;
  readonly steps: readonly StepReport[];
}

interface Undo {
  readonly step: string;
  readonly back: (occasion: Occasion) => Promise<string>;
}

/** A step that one process of the fleet takes, and that is not known to be taken. */
interface Owed {
  readonly index: number;
  readonly tries: number;
  readonly dueMs: number;
}

const mostTries = 5;
const firstRetryMs = 5_000;

/** A playbook at work: looks at its measure, takes its steps when it begins, takes them back when it is over. */
export class Play {
  readonly playbook: Playbook;
  readonly #actions: readonly Action[];
  readonly #once: FleetOnce;
  readonly #measure: Measure;
  readonly #trigger: Trigger;
  #undos: Undo[] = [];
  #steps: StepReport[] = [];
  #owed: Owed[] = [];
  #lookedMs = 0;
  #value: number | undefined;

  constructor(playbook: Playbook, actions: readonly Action[], reader: MetricsReader, once: FleetOnce) {
    this.playbook = playbook;
    this.#actions = actions;
    this.#once = once;
    this.#measure = new Measure(playbook.measure, reader);
    this.#trigger = new Trigger(playbook.trigger);
  }

  /** The newest value. */
  get value(): number | undefined {
    return this.#value;
  }

  state(nowMs: number): TriggerState {
    return this.#trigger.state(nowMs);
  }

  /** To be asked once a second: whether it begins, is over, or has a step to try again. */
  look(nowMs: number): 'begin' | 'end' | 'again' | undefined {
    this.#lookedMs = nowMs;
    this.#value = this.#measure.look(nowMs);
    const step = this.#trigger.look(this.#value, nowMs);
    return step ?? (this.#owed.some(({ dueMs }) => dueMs <= nowMs) ? 'again' : undefined);
  }

  /** Over by decision of a person. */
  end(nowMs: number): void {
    this.#trigger.end(nowMs);
  }

  /** Takes the steps, one after another; one that fails does not stop those behind it. Never rejects. */
  async begin(dryRun = false): Promise<PlayReport> {
    const steps: StepReport[] = [];
    for (const [index, action] of this.#actions.entries()) {
      const rehearsed = dryRun || this.playbook.steps[index]?.dryRun === true;
      steps.push(rehearsed ? { step: action.says, outcome: 'dry-run' } : await this.#take(action, index, 1));
    }
    if (!dryRun) this.#steps = steps;
    return { state: 'ran', dryRun: steps.every(({ outcome }) => outcome === 'dry-run'), value: this.#value, steps };
  }

  /** Tries steps again that nobody is known to have taken. `undefined`: that has changed nothing. Never rejects. */
  async again(): Promise<PlayReport | undefined> {
    const due = this.#owed.filter(({ dueMs }) => dueMs <= this.#lookedMs);
    this.#owed = this.#owed.filter((owed) => !due.includes(owed));
    const before = this.#steps;
    for (const { index, tries } of due) {
      const action = this.#actions[index];
      if (action === undefined) continue;
      const report = await this.#take(action, index, tries + 1);
      this.#steps = this.#steps.map((old, at) => (at === index ? report : old));
    }
    if (isDeepStrictEqual(before, this.#steps)) return undefined;
    return { state: 'again', dryRun: false, value: this.#value, steps: this.#steps };
  }

  /** Takes back what can be, the newest first; nothing where the playbook says that it stays. Never rejects. */
  async over(): Promise<PlayReport> {
    const undos = this.#undos.reverse();
    this.#undos = [];
    this.#owed = [];
    const steps: StepReport[] = [];
    for (const { step, back } of this.playbook.undo ? undos : []) {
      try {
        steps.push({ step, outcome: 'undone', detail: await back(this.#occasion()) });
      } catch (error) {
        steps.push({ step, outcome: 'not undone', detail: messageOf(error) });
      }
    }
    return { state: 'over', dryRun: false, value: this.#value, steps };
  }

  async #take(action: Action, index: number, tries: number): Promise<StepReport> {
    const { name, trigger } = this.playbook;
    const step = action.says;
    const owes = (tries: number, waitMs: number): void =>
      void this.#owed.push({ index, tries, dueMs: this.#lookedMs + waitMs });
    try {
      const work = () => action.take(this.#occasion());
      const taken = action.once
        ? await this.#once.take(`playbook/${name}/${index}`, trigger.coolDownMs, work)
        : ({ by: 'us', result: await work() } as const);
      if (taken.by !== 'us') {
        // Who is at it may fail or vanish: that is no try of ours.
        if (taken.waitMs !== undefined) owes(tries - 1, Math.max(taken.waitMs, firstRetryMs));
        return { step, outcome: 'another worker' };
      }
      if (taken.result !== undefined) this.#undos.push({ step, back: taken.result });
      return { step, outcome: 'done' };
    } catch (error) {
      if (action.once && tries < mostTries && !mayHaveActed(error)) owes(tries, firstRetryMs * 2 ** (tries - 1));
      return { step, outcome: 'failed', detail: messageOf(error) };
    }
  }

  #occasion(): Occasion {
    return { playbook: this.playbook.name, when: this.playbook.condition, value: this.#value };
  }
}
