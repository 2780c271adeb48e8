import type { Playbook } from '../../config/playbooks.ts';
import type { Counter, MetricsReader } from '../../ports/metrics.ts';
import type { Audit } from '../audit.ts';
import type { Stores, WorldParts } from '../stores.ts';

import { actionOf, type Hands } from './actions.ts';
import { FleetOnce } from './fleet-once.ts';
import { Play, type PlayReport } from './play.ts';

/** How a playbook stands, as `/admin/playbooks` shows it. */
export interface PlaybookView {
  readonly name: string;
  readonly about: string | undefined;
  readonly when: string;
  readonly state: string;
  readonly value: number | undefined;
  readonly steps: readonly { readonly says: string; readonly dryRun: boolean }[];
  readonly last: (PlayReport & { readonly at: string }) | undefined;
}

/** What playbooks need. */
export interface PlaybooksParts {
  readonly parts: WorldParts;
  readonly reader: MetricsReader;
  readonly hands: Hands;
  readonly stores: Pick<Stores, 'requestClaims'>;
  readonly audit: Audit;
}

/** Who has a playbook do something, and why. */
export interface PlayOrder {
  readonly by: string;
  /** Default: the condition of the playbook. */
  readonly reason?: string | undefined;
  readonly requestId?: string | undefined;
}

interface Kept {
  readonly play: Play;
  readonly says: readonly string[];
  /** Runs of one playbook go one after another. */
  busy: Promise<unknown>;
  last: PlaybookView['last'];
}

/** The playbooks of a process: looks once a second, acts, writes down on `audit` what it did and why. */
export class Playbooks {
  readonly #needs: PlaybooksParts;
  readonly #runs: Counter;
  readonly #kept = new Map<string, Kept>();

  constructor(needs: PlaybooksParts, playbooks: readonly Playbook[]) {
    this.#needs = needs;
    const { metrics, clock, timers, random } = needs.parts;
    this.#runs = metrics.counter('larkspur_playbook_runs_total', 'Runs of playbooks, by what came of them', [
      'playbook',
      'outcome',
    ]);
    metrics.gauge('larkspur_playbook_active', '1 from the begin of a playbook until it is over', ['playbook'], () =>
      [...this.#kept].map(
        ([name, { play }]) => [{ playbook: name }, play.state(clock.now()) === 'active' ? 1 : 0] as const,
      ),
    );
    const once = new FleetOnce(needs.stores.requestClaims, timers, random);
    for (const playbook of playbooks) {
      const actions = playbook.steps.map((step) => actionOf(step, needs.hands, needs.parts));
      const says = actions.map((action) => action.says);
      const play = new Play(playbook, actions, needs.reader, once);
      this.#warnOfStrangers(playbook);
      this.#kept.set(playbook.name, { play, says, busy: Promise.resolve(), last: undefined });
    }
  }

  /** Looks at all of them; to be called once a second. */
  look(): void {
    const nowMs = this.#needs.parts.clock.now();
    for (const kept of this.#kept.values()) {
      const step = kept.play.look(nowMs);
      const by = `playbook ${kept.play.playbook.name}`;
      if (step === 'begin') void this.#do(kept, { by }, () => kept.play.begin());
      if (step === 'again') void this.#do(kept, { by }, () => kept.play.again());
      if (step === 'end') void this.#do(kept, { by }, () => kept.play.over());
    }
  }

  views(): readonly PlaybookView[] {
    const nowMs = this.#needs.parts.clock.now();
    return [...this.#kept.values()].map(({ play, says, last }) => ({
      ...{ name: play.playbook.name, about: play.playbook.about, when: play.playbook.condition },
      ...{ state: play.state(nowMs), value: play.value, last },
      steps: says.map((words, index) => ({ says: words, dryRun: play.playbook.steps[index]?.dryRun === true })),
    }));
  }

  /** A person rehearses a playbook: it says what it would do. `undefined`: there is none of that name. */
  rehearse(name: string, order: PlayOrder): Promise<PlayReport> | undefined {
    const kept = this.#kept.get(name);
    return kept === undefined ? undefined : this.#do(kept, order, () => kept.play.begin(true));
  }

  /** A person ends it: what it did is undone, and it rests. `undefined`: there is none of that name. */
  end(name: string, order: PlayOrder): Promise<PlayReport> | undefined {
    const kept = this.#kept.get(name);
    if (kept === undefined) return undefined;
    kept.play.end(this.#needs.parts.clock.now());
    return this.#do(kept, order, () => kept.play.over());
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await Promise.all([...this.#kept.values()].map(({ busy }) => busy));
  }

  /** A misspelt metric has no value, so nothing would ever begin. */
  #warnOfStrangers({ name, measure: { metric, of } }: Playbook): void {
    const { parts, reader } = this.#needs;
    const unknown = [metric, ...of].filter((one) => !reader.knows(one));
    if (unknown.length === 0) return;
    const cure = 'see deploy/metrics.md; metrics of Kafka and Redis are there when they are configured';
    parts.log.warn({ playbook: name, unknown, cure }, 'a playbook looks at metrics that this process does not have');
  }

  #do<Report extends PlayReport | undefined>(
    kept: Kept,
    { by, reason, requestId }: PlayOrder,
    work: () => Promise<Report>,
  ): Promise<Report> {
    const { playbook } = kept.play;
    const why = { reason: reason ?? playbook.condition, requestId };
    const { audit, parts } = this.#needs;
    const done = kept.busy.then(async () => {
      const from = kept.last?.state ?? 'idle';
      const report = await work();
      if (report === undefined) return report;
      const failed = report.steps.some(({ outcome }) => outcome === 'failed' || outcome === 'not undone');
      const outcome = failed ? 'failed' : report.dryRun ? 'dry-run' : report.state;
      this.#runs.add({ playbook: playbook.name, outcome });
      parts.log.warn({ playbook: playbook.name, by, ...report }, `a playbook ${report.state}`);
      kept.last = {
        ...report,
        at: audit.write({ by, what: `playbook/${playbook.name}`, from, to: report, ...why }),
      };
      return report;
    });
    kept.busy = done;
    return done;
  }
}
