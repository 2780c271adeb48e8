import { notAbove, type Report } from './not-above.ts';
import type { RawUpstream } from './schema-upstream.ts';
import type { Path } from './tree.ts';

/** Rules between the values of a breaker's window. */
export function breakerRules(
  at: Path,
  breaker: Exclude<NonNullable<RawUpstream['breaker']>, 'off'>,
  report: Report,
): void {
  const { minMs, maxMs, targetCalls } = breaker.window ?? {};
  const name = at.join('.');
  notAbove(report, [...at, 'window', 'minMs'], minMs, `${name}.window.maxMs`, maxMs);
  if (minMs === undefined && maxMs === undefined && targetCalls === undefined) return;
  if (minMs === undefined) report([...at, 'window', 'minMs'], 'is missing: an elastic window has minMs and maxMs');
  if (maxMs === undefined) report([...at, 'window', 'maxMs'], 'is missing: an elastic window has minMs and maxMs');
  if (breaker.mode === 'exact') report([...at, 'mode'], 'is exact, which a window of one length is: give window.ms');
  if (minMs === undefined || maxMs === undefined || breaker.buckets === undefined) return;
  const least = Math.ceil((2 * maxMs) / breaker.buckets);
  if (minMs < least) {
    report([...at, 'window', 'minMs'], `is ${minMs}, must hold two buckets, which is ${least}, or take more buckets`);
  }
}
