// Attempts of one millisecond share their text: formatting a date costs more than most of what a call costs here.
let lastMs = Number.NaN;
let lastText = '';

/** Epoch milliseconds as ISO 8601 in UTC. */
export function isoTime(wallMs: number): string {
  if (wallMs === lastMs) return lastText;
  lastMs = wallMs;
  // eslint-disable-next-line no-restricted-globals -- a pure conversion of a given instant
  lastText = new Date(wallMs).toISOString();
  return lastText;
}
