import type { Verdict } from '../../sandbox/ledger/ledger.ts';
import { atMost, type Bar } from '../report.ts';

import type { DemoCall } from './calls.ts';
import type { Terminal } from './terminals.ts';

/** What is wrong with a run; all zero when nothing is. */
export interface Findings {
  /** Calls without a terminal record, and answered writes that never took effect. */
  readonly lost: number;
  /** Effects beyond the first of a call, and terminal records beyond the first. */
  readonly twice: number;
  /** Calls of a chat that took effect, or got their result, after a later one. */
  readonly outOfOrder: number;
}

/** Writes per chat that ended with an answer, so that each must stand in the ledger. */
export function effectsOwed(calls: readonly DemoCall[], terminals: readonly Terminal[]): Map<string, number> {
  const answered = new Set(terminals.filter(({ answered: ok }) => ok).map(({ id }) => id));
  const owed = new Map<string, number>();
  for (const { id, chat, writes } of calls) {
    if (writes && answered.has(id)) owed.set(chat, (owed.get(chat) ?? 0) + 1);
  }
  return owed;
}

/**
 * Compares what was asked with what the topics say and what the platform's own ledger says. Terminal records of other
 * runs in the same folder count for nothing.
 * @param ledger the sandbox's verdict over {@link effectsOwed}
 */
export function judge(calls: readonly DemoCall[], terminals: readonly Terminal[], ledger: Verdict): Findings {
  const copies = new Map(calls.map(({ id }) => [id, 0]));
  for (const { id } of terminals) {
    const known = copies.get(id);
    if (known !== undefined) copies.set(id, known + 1);
  }
  const counts = [...copies.values()];
  return {
    lost: counts.filter((count) => count === 0).length + ledger.missing,
    twice: ledger.twice + counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0),
    // The ledger sees no reads and the results no effect that was answered late: the same swap may stand in both.
    outOfOrder: Math.max(ledger.outOfOrder, swaps(calls, terminals)),
  };
}

/** The demo's bars. */
export function barsOf({ lost, twice, outOfOrder }: Findings): Bar[] {
  return [atMost('lost', lost, 0), atMost('twice', twice, 0), atMost('outOfOrder', outOfOrder, 0)];
}

/** Terminal records that stand behind one of a later call of their chat, in one partition of one topic. */
function swaps(calls: readonly DemoCall[], terminals: readonly Terminal[]): number {
  const byId = new Map(calls.map((call) => [call.id, call]));
  const highest = new Map<string, number>();
  let count = 0;
  for (const { id, topic, partition } of [...terminals].sort((a, b) => a.offset - b.offset)) {
    const call = byId.get(id);
    if (call === undefined) continue;
    const row = `${topic}/${partition}/${call.chat}`;
    const seen = highest.get(row) ?? -1;
    if (call.n < seen) count++;
    else highest.set(row, call.n);
  }
  return count;
}
