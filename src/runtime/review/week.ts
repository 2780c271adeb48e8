import type { AuditEntry } from '../../model/audit.ts';
import { isTree } from '../../model/schema-words.ts';
import type { ChaosRun } from '../chaos/ledger.ts';
import type { NamedSlo } from '../stability/slos.ts';

/** A promise that was missed by the most, or kept by the least. */
export interface SliGap {
  readonly slo: string;
  readonly objective: number;
  readonly measured: number;
  /** Objective less measured; below 0: kept. */
  readonly gap: number;
  readonly budgetLeft: number;
}

/** A run of chaos and what it found. */
export type ChaosFinding = Pick<ChaosRun, 'scenario' | 'startedAt' | 'verdict' | 'findings'>;

/** What a playbook did. */
export interface PlaybookRuns {
  readonly name: string;
  readonly ran: number;
  readonly rehearsed: number;
  readonly failed: number;
  readonly lastAt: string;
}

/** The three facts of a week, and the decisions behind them. */
export interface WeekReport {
  readonly from: string;
  readonly to: string;
  /** `undefined`: nothing was promised, or nothing was called. */
  readonly biggestGap: SliGap | undefined;
  /** `undefined`: there was no run. */
  readonly latestChaos: ChaosFinding | undefined;
  readonly playbooks: readonly PlaybookRuns[];
  /** Changes by who made them. */
  readonly changes: readonly { readonly by: string; readonly count: number }[];
}

/** What a report is made of. */
export interface WeekParts {
  readonly from: string;
  readonly to: string;
  /** Of all workers; those of one name are added up. */
  readonly slos: readonly Pick<NamedSlo, 'name' | 'objective' | 'good' | 'bad'>[];
  readonly runs: readonly ChaosFinding[];
  readonly entries: readonly AuditEntry[];
}

/** Puts a report together. */
export function weekReport({ from, to, slos, runs, entries }: WeekParts): WeekReport {
  const within = runs.filter(({ startedAt }) => startedAt >= from && startedAt <= to);
  // The newest that found something tells more than a newer one that found nothing.
  const newest = within.findLast(({ findings }) => findings.length > 0) ?? within.at(-1);
  const by = new Map<string, number>();
  for (const entry of entries) by.set(entry.by, (by.get(entry.by) ?? 0) + 1);
  return {
    from,
    to,
    biggestGap: biggestGap(slos),
    latestChaos: newest,
    playbooks: playbookRuns(entries),
    changes: [...by].map(([name, count]) => ({ by: name, count })).sort((a, b) => b.count - a.count),
  };
}

function biggestGap(slos: WeekParts['slos']): SliGap | undefined {
  const sums = new Map<string, { objective: number; good: number; bad: number }>();
  for (const { name, objective, good, bad } of slos) {
    const sum = sums.get(name) ?? { objective, good: 0, bad: 0 };
    sums.set(name, { objective, good: sum.good + good, bad: sum.bad + bad });
  }
  const gaps = [...sums].flatMap(([slo, { objective, good, bad }]): SliGap[] => {
    const total = good + bad;
    if (total === 0) return [];
    const measured = good / total;
    return [{ slo, objective, measured, gap: objective - measured, budgetLeft: 1 - bad / (total * (1 - objective)) }];
  });
  return gaps.sort((a, b) => b.gap - a.gap)[0];
}

function playbookRuns(entries: readonly AuditEntry[]): PlaybookRuns[] {
  const runs = new Map<string, PlaybookRuns>();
  for (const { what, to, at } of entries) {
    const name = /^playbook\/(.+)$/.exec(what)?.[1];
    if (name === undefined || !isTree(to)) continue;
    const known = runs.get(name) ?? { name, ran: 0, rehearsed: 0, failed: 0, lastAt: at };
    const began = to['state'] === 'ran';
    const steps: readonly unknown[] = Array.isArray(to['steps']) ? to['steps'] : [];
    const failed = steps.some(
      (step) => isTree(step) && (step['outcome'] === 'failed' || step['outcome'] === 'not undone'),
    );
    runs.set(name, {
      name,
      ran: known.ran + (began && to['dryRun'] !== true ? 1 : 0),
      rehearsed: known.rehearsed + (began && to['dryRun'] === true ? 1 : 0),
      failed: known.failed + (failed ? 1 : 0),
      lastAt: at,
    });
  }
  return [...runs.values()];
}

const percent = (share: number): string => `${Math.round(share * 100_000) / 1_000} %`;

/** A report for people, as lines. */
export function weekLines({ from, to, biggestGap: gap, latestChaos: chaos, playbooks, changes }: WeekReport): string[] {
  const facts = [
    gap === undefined
      ? 'biggest SLI gap       none: nothing was promised (slo), or nothing was called'
      : `biggest SLI gap       ${gap.slo}: ${percent(gap.measured)} of ${percent(gap.objective)}, ${gap.gap > 0 ? `missed by ${percent(gap.gap)}` : 'kept'}, ${percent(gap.budgetLeft)} of the budget left`,
    chaos === undefined
      ? 'latest chaos finding  none: no scenario was run'
      : `latest chaos finding  ${chaos.scenario} (${chaos.startedAt}): ${chaos.verdict}${chaos.findings.map((text) => `; ${text}`).join('')}`,
    ...(playbooks.length === 0 ? ['playbook runs         none'] : []),
    ...playbooks.map(
      ({ name, ran, rehearsed, failed, lastAt }) =>
        `playbook runs         ${name}: ${ran} times, rehearsed ${rehearsed}, with failures ${failed}, last ${lastAt}`,
    ),
  ];
  const who = changes.map(({ by, count }) => `${by} ${count}`).join(', ');
  return [`${from} to ${to}`, '', ...facts, `changes               ${who === '' ? 'none' : who}`];
}
