/** What a call holds while it is at its upstream's door. */
export interface Door {
  here: boolean;
  placed: boolean;
  promised: boolean;
  /** Called when it leaves: somebody waits for what becomes of it. */
  left: (() => void) | undefined;
}

/** Of a call that is not there. */
export function doorOf(): Door {
  return { here: false, placed: false, promised: false, left: undefined };
}
