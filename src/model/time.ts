/* eslint-disable no-restricted-globals -- a pure conversion of a given instant; the present moment comes from a Clock */

/** Epoch milliseconds as ISO 8601 in UTC. */
export function isoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
