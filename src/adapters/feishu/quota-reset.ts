// Feishu counts days and months in China, which has had one offset and no daylight saving since 1991.
const chinaOffsetMs = 8 * 3_600_000;
const dayMs = 86_400_000;

/** The code of the monthly call quota that a tenant's apps share. */
export const monthlyQuotaCode = 99_991_403;

/** Milliseconds until a used-up quota comes back: the first of the next month, or the next midnight, in China. */
export function quotaResetMs(code: number | undefined, wallMs: number): number {
  const local = new Date(wallMs + chinaOffsetMs);
  const resetLocalMs =
    code === monthlyQuotaCode
      ? Date.UTC(local.getUTCFullYear(), local.getUTCMonth() + 1, 1)
      : Math.floor(local.getTime() / dayMs) * dayMs + dayMs;
  return resetLocalMs - chinaOffsetMs - wallMs;
}
