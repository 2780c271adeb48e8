import type { LimitKey } from '../../ports/profile.ts';

/** A start that was granted; to be used at once or given back. */
export interface Grant {
  /** Monotonic milliseconds at which it came. */
  readonly atMs: number;
  /** `undefined`: the log does not know of it. */
  readonly stamp: number | undefined;
}

/** From when on something may be worth while, and the key of the bucket that decides it. */
export interface Earliest {
  readonly atMs: number;
  readonly key: string;
}

/** Whether a call may start now. `appointed`: it has a start of its own at that time. `ask`: nobody here knows, the log must be asked. */
export type Taken =
  | { readonly kind: 'granted'; readonly grant: Grant }
  | { readonly kind: 'wait'; readonly untilMs: number; readonly key: string; readonly appointed?: true }
  | { readonly kind: 'ask' };

/** Whether none of the buckets has a limit; they may rest all the same. */
export function isUnlimited(limits: readonly LimitKey[]): boolean {
  return limits.every(({ windows }) => windows.length === 0);
}

/** The key of the last bucket that has limits: the narrowest. */
export function narrowestKey(limits: readonly LimitKey[]): string {
  return limits.findLast(({ windows }) => windows.length > 0)?.key ?? '';
}
