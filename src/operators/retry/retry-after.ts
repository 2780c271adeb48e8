import type { Random } from '../../ports/random.ts';

const resetHeader = 'x-ogw-ratelimit-reset';
const retryAfterHeader = 'retry-after';
const minuteMs = 60_000;
const rushBeforeMs = 500;
const rushMs = 2_500;
// IMF-fixdate, RFC 850 and asctime (RFC 9110, 5.6.7). Date.parse alone would take "7 apples" for a date.
const httpDate = /^(Mon|Tues?|Wed(nes)?|Thu(rs)?|Fri|Sat(ur)?|Sun)(day)?,? +[\w :-]+( GMT)?$/;

/**
 * How long the server asked us to wait, in milliseconds, or 0: the longest of `x-ogw-ratelimit-reset` (seconds) and
 * `Retry-After` (seconds, also with a fraction, or an HTTP date). What cannot be read, is negative or past is ignored.
 *
 * @param headers names in lower case @param wallMs epoch milliseconds, to which an HTTP date is compared
 */
export function askedWaitMs(headers: Readonly<Record<string, string | undefined>>, wallMs: number): number {
  const retryAfter = headers[retryAfterHeader];
  return Math.max(secondsMs(headers[resetHeader]), secondsMs(retryAfter), dateMs(retryAfter, wallMs));
}

/** An asked wait with U(0, 500 ms) on top, never less than asked: many waiters must not come back in one moment. */
export function spreadWaitMs(askedMs: number, random: Random): number {
  return askedMs + Math.floor(random.next() * 500);
}

/**
 * How long to wait after a refusal that names no time: spread like one that does, and on its other side where it would end in
 * the rush of a full minute (half a second before it, two after), when the timers of everybody call.
 *
 * @param leastMs not less than this @param wallMs epoch milliseconds of now
 */
export function unnamedWaitMs(leastMs: number, wallMs: number, random: Random): number {
  const waitMs = spreadWaitMs(leastMs, random);
  const intoRushMs = (wallMs + waitMs + rushBeforeMs) % minuteMs;
  return intoRushMs < rushMs ? waitMs + rushMs - intoRushMs + Math.floor(random.next() * rushMs) : waitMs;
}

function secondsMs(text: string | undefined): number {
  if (text === undefined || !/^\s*\d{1,12}(\.\d+)?\s*$/.test(text)) return 0;
  return Math.ceil(Number(text) * 1_000);
}

function dateMs(text: string | undefined, wallMs: number): number {
  if (text === undefined || !httpDate.test(text.trim())) return 0;
  const zoned = text.trim().endsWith('GMT') ? text : `${text} GMT`;
  // eslint-disable-next-line no-restricted-globals -- Date.parse reads no clock
  const atMs = Date.parse(zoned);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - wallMs);
}
