import type { Job } from './job.ts';

/** Whether a call has an answer to give when its upstream has none. */
export function hasFallback({ call, destination }: Job): boolean {
  const { fallback } = destination;
  if (fallback.off) return false;
  return call.fallback !== undefined || fallback.default !== undefined || fallback.cacheTtlMs > 0;
}
