import type { Call } from '../../model/call.ts';
import type { Clock } from '../../ports/clock.ts';

/** Nobody waits longer than this for a call without a deadline of its own. */
export const defaultTtlMs = 24 * 3_600_000;

/**
 * When the answer of a call is no longer wanted, in monotonic milliseconds of this process (may lie in the past):
 * its `deadline`, or `ttlMs` after the record's timestamp, or `ceilingMs` after it when it names neither.
 *
 * A timestamp ahead of the clock, or none (0 or less), counts as now: a producer's wrong clock prolongs nothing.
 * @param recordTimestampMs epoch milliseconds of the record that first brought the call
 */
export function deadlineOf(
  call: Pick<Call, 'deadline' | 'ttlMs'>,
  recordTimestampMs: number,
  clock: Clock,
  ceilingMs = defaultTtlMs,
): number {
  const wallMs = clock.wall();
  const bornMs = recordTimestampMs > 0 ? Math.min(recordTimestampMs, wallMs) : wallMs;
  const endMs = epochMs(call.deadline) ?? bornMs + (call.ttlMs ?? ceilingMs);
  return clock.now() + (endMs - wallMs);
}

/** How long one attempt may take: the policy's time-out, but never past the deadline; 0 when it is already over. */
export function attemptTimeoutMs(policyMs: number, leftMs: number): number {
  return Math.max(0, Math.min(policyMs, leftMs));
}

function epochMs(deadline: Call['deadline']): number | undefined {
  if (typeof deadline !== 'string') return deadline;
  // eslint-disable-next-line no-restricted-globals -- Date.parse reads no clock
  const atMs = Date.parse(deadline);
  return Number.isNaN(atMs) ? undefined : atMs;
}
