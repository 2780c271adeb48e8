/** How old or how far ahead a signed timestamp may be, milliseconds. */
export interface Window {
  /** Feishu does not say whether a redelivery is signed anew, so this covers its last one. */
  readonly maxAgeMs: number;
  /** Clocks differ. */
  readonly clockSkewMs: number;
}

/**
 * The moment that a signed timestamp names, epoch milliseconds, or `undefined`. Usually Unix seconds; by its digits also
 * milliseconds or microseconds; card callbacks have been seen with the text of a Go time
 * (`2026-10-04 18:23:46.05 +0800 CST m=+3612.1`).
 */
export function momentOf(timestamp: string): number | undefined {
  if (/^\d{1,16}$/.test(timestamp)) return epochMs(timestamp);
  const [, date, time, fraction = '', zone = ''] =
    /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(\.\d{1,9})? ([+-]\d{4})(?: |$)/.exec(timestamp) ?? [];
  if (date === undefined || time === undefined) return undefined;
  // eslint-disable-next-line no-restricted-globals -- Date.parse reads no clock
  const ms = Date.parse(`${date}T${time}${fraction.slice(0, 4)}${zone.slice(0, 3)}:${zone.slice(3)}`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Epoch milliseconds of digits that are seconds (up to 11), milliseconds (up to 14) or microseconds. */
export function epochMs(digits: string): number {
  const value = Number(digits);
  if (digits.length <= 11) return value * 1_000;
  return digits.length <= 14 ? value : Math.floor(value / 1_000);
}

/** Whether a signed timestamp lies in the window around `wallMs`. One that names no moment does not. */
export function isFresh(timestamp: string, wallMs: number, { maxAgeMs, clockSkewMs }: Window): boolean {
  const moment = momentOf(timestamp);
  return moment !== undefined && wallMs - moment <= maxAgeMs && moment - wallMs <= clockSkewMs;
}
