import { LarkspurError } from '../model/errors.ts';

/**
 * The minute that a person names: `14:30` is the last time that it was half past two here; a date with a time, any.
 * @returns epoch milliseconds
 * @throws LarkspurError `bad_request` for text that names none, and for a moment that has not come
 */
export function minuteNamed(text: string, nowMs: number): number {
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text);
  const dated = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text) ? Date.parse(text) : NaN;
  const named = clock === null ? dated : lastAt(Number(clock[1]), Number(clock[2]), nowMs);
  if (Number.isNaN(named) || named > nowMs) {
    throw new LarkspurError('bad_request', `${text} names no minute that is over`, {
      cure: 'give a time of the last 24 hours, HH:MM on this machine’s clock, or a date with a time (ISO 8601)',
    });
  }
  return named;
}

function lastAt(hours: number, minutes: number, nowMs: number): number {
  const at = new Date(nowMs);
  at.setHours(hours, minutes, 0, 0);
  if (at.getTime() > nowMs) at.setDate(at.getDate() - 1);
  return at.getTime();
}
