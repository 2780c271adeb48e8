const halfHourMs = 1_800_000;
const slotMs = 1_000;

/** When a call of a half hour may start, and the slot in which it does; all calls of a slot start together. */
export interface HalfHourSlot {
  readonly slot: number;
  /** Milliseconds from now; 0: now. */
  readonly waitMs: number;
}

/**
 * Spreads what comes at a full or half hour, when everybody's timers call, evenly over some time after it: each call has a
 * slot of a second, always the same one. After that time nothing waits.
 * @param share of the call, in [0, 1)
 * @param spreadMs 0 or less: nothing is spread
 */
export function halfHourSlot(share: number, wallMs: number, spreadMs: number): HalfHourSlot {
  const sinceMs = wallMs % halfHourMs;
  if (sinceMs >= spreadMs) return { slot: 0, waitMs: 0 };
  const slot = Math.floor((share * spreadMs) / slotMs);
  return { slot, waitMs: Math.max(0, slot * slotMs - sinceMs) };
}
