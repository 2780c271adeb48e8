// Attempts of one millisecond share their text: formatting a date costs more than most of what a call costs here.
let lastMs = Number.NaN;
let lastText = '';

// As far as a Date reaches. Records come with any timestamp, nanoseconds among them.
const furthestMs = 8.64e15;

/** Epoch milliseconds as ISO 8601 in UTC; what no date can hold becomes the first or the last one. */
export function isoTime(wallMs: number): string {
  if (wallMs === lastMs) return lastText;
  lastMs = wallMs;
  // eslint-disable-next-line no-restricted-globals -- a pure conversion of a given instant
  lastText = new Date(Math.max(-furthestMs, Math.min(furthestMs, wallMs))).toISOString();
  return lastText;
}
