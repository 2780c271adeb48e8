import type { WindowLimit } from '../../../src/sandbox/state/windows.ts';
import { SlidingWindow } from '../../../src/sandbox/state/windows.ts';

/** Limits from a time on, milliseconds since the first call. */
export interface Epoch {
  readonly fromMs: number;
  readonly limits: readonly WindowLimit[];
}

/**
 * When a caller that knows everything beforehand makes its calls under sliding windows: each as soon as it is allowed.
 */
export function idealStarts(calls: number, epochs: readonly Epoch[]): number[] {
  const starts: number[] = [];
  let windows = (epochs[0]?.limits ?? []).map((limit) => new SlidingWindow(limit));
  let epoch = 0;
  for (let nowMs = 0; starts.length < calls;) {
    const next = epochs[epoch + 1];
    if (next !== undefined && nowMs >= next.fromMs) {
      windows = windows.map((window, index) => window.withLimit(next.limits[index]?.limit ?? window.limit));
      epoch++;
    }
    const waitMs = Math.max(0, ...windows.map((window) => window.waitMs(nowMs)));
    if (waitMs > 0) {
      nowMs = Math.min(nowMs + waitMs, epochs[epoch + 1]?.fromMs ?? Infinity);
      continue;
    }
    for (const window of windows) window.take(nowMs);
    starts.push(nowMs);
  }
  return starts;
}
