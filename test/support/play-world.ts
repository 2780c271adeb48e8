import { expect, vi } from 'vitest';

import { openEmbedded } from '../../src/adapters/embedded/embedded.ts';
import { createMetrics } from '../../src/adapters/prometheus/metrics.ts';
import { type Playbook, readPlaybook } from '../../src/config/playbooks.ts';
import type { AuditEntry } from '../../src/model/audit.ts';
import { Audit } from '../../src/runtime/audit.ts';
import type { Hands } from '../../src/runtime/playbooks/actions.ts';
import { Playbooks } from '../../src/runtime/playbooks/playbooks.ts';

import { RememberingLogger } from './remembering-logger.ts';
import { seededRandom, VirtualTime } from './virtual-time.ts';

/** Reads a playbook out of its text. */
export function playbookOf(yaml: string, env: Readonly<Record<string, string>> = {}): Playbook {
  const { playbook, lines } = readPlaybook(yaml, 'play.yaml', env, () => '');
  if (playbook === undefined) throw new Error(lines.join('\n'));
  return playbook;
}

/** Playbooks of one process or several in virtual time, with one value that they look at and hands that remember. */
export class PlayWorld {
  // Other processes, which a step may reach, live in real time.
  readonly time = new VirtualTime(Date.now());
  readonly log = new RememberingLogger();
  readonly metrics = createMetrics({ processMetrics: false });
  readonly store;
  /** What the gauge `value` shows. */
  value: number | undefined = 0;
  /** What the hands did, and took back. */
  readonly did: string[] = [];
  readonly playbooks: Playbooks[];

  constructor(playbooks: readonly Playbook[], hands: Partial<Hands> = {}, processes = 1) {
    const { time, log, metrics } = this;
    const topics = [{ name: 'audit', partitions: 1 }];
    const nextTurn = (task: () => void): void => void time.after(0, task);
    this.store = openEmbedded({ data: 'memory', clock: time, timers: time, logger: log, topics, nextTurn });
    metrics.gauge('value', 'what is looked at', [], () => (this.value === undefined ? [] : [[{}, this.value]]));
    const parts = { clock: time, timers: time, random: seededRandom(1), log, metrics };
    const note = (what: string) => {
      this.did.push(what);
      return () => void this.did.push(`not ${what}`);
    };
    const all: Hands = {
      overlay: (_playbook, values) => note(JSON.stringify(values)),
      isolate: (upstream) => note(`isolate ${upstream}`),
      pause: (upstream) => note(`pause ${upstream}`),
      disturb: (rules, forMs) => {
        const back = note(`disturb ${JSON.stringify(rules)} for ${forMs}`);
        return Promise.resolve(() => {
          back();
          return Promise.resolve();
        });
      },
      ...hands,
    };
    this.playbooks = Array.from({ length: processes }, () => {
      const needs = {
        parts,
        reader: metrics,
        hands: all,
        stores: this.store,
        audit: new Audit(this.store.sink, parts),
      };
      return new Playbooks(needs, playbooks);
    });
  }

  /** Lets so many seconds pass, with a look at each. */
  async run(seconds: number, value: number | undefined = this.value): Promise<void> {
    this.value = value;
    for (let second = 0; second < seconds; second++) {
      await this.time.advanceAsync(1_000);
      for (const playbooks of this.playbooks) playbooks.look();
    }
    await this.time.advanceAsync(0);
  }

  /** What stands on `audit`, oldest first. */
  get audit(): AuditEntry[] {
    const all: AuditEntry[] = [];
    for (
      let record = this.store.read('audit', 0, 0);
      record !== undefined;
      record = this.store.read('audit', 0, all.length)
    )
      all.push(JSON.parse(String(record.value)) as AuditEntry);
    return all;
  }
}

/** What a run came to, once it is written down. */
export async function ran(world: PlayWorld, times = 1): Promise<unknown[]> {
  await vi.waitFor(
    async () => {
      await world.time.advanceAsync(1);
      expect(world.audit.length).toBeGreaterThanOrEqual(times);
    },
    { timeout: 20_000, interval: 10 },
  );
  return world.audit.map(({ to }) => (to as { steps: unknown[] }).steps);
}
