import type { LimitKey, RateWindow } from '../../../src/ports/profile.ts';
import type { QuotaAnswer, QuotaLog } from '../../../src/ports/quota-log.ts';
import { only } from '../only.ts';

/** A log as two processes see it, on a clock that the test moves. */
export interface QuotaLogBench {
  readonly log: QuotaLog;
  /** The same log in another process. */
  readonly other: QuotaLog;
  /** Milliseconds since the bench began. */
  now(): number;
  advance(ms: number): Promise<void>;
  /** Resolves when what was told without an answer has arrived. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** A bucket of the group `g`. */
export function bucket(key: string, ...windows: readonly (readonly [limit: number, windowMs: number])[]): LimitKey {
  return { key, group: 'g', windows: windows.map(([limit, windowMs]): RateWindow => ({ limit, windowMs })) };
}

/** Asks for some starts; rejects when the log is away. */
export async function ask(
  log: QuotaLog,
  limits: readonly LimitKey[],
  want = 1,
  aheadMs?: number,
): Promise<QuotaAnswer> {
  const reply = await only(log.take({ limits, want: () => want, ...(aheadMs === undefined ? {} : { aheadMs }) }));
  if (reply.kind === 'away') throw new Error('the log is away');
  return reply;
}
