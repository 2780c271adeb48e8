/** Who takes part: takes calls, and says how each ended. */
export interface Contestant {
  /** Resolves with whether there was a good answer. */
  readonly call: (n: number) => Promise<boolean>;
  /** Requests made at the upstream so far. */
  readonly requests: () => number;
  readonly close: () => Promise<void>;
}

/** How a contestant took a load. */
export interface Taken {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
  /** Requests at the upstream per call. */
  readonly amplification: number;
  /** Calls without an end at the moment when the last one was offered. */
  readonly openAtEnd: number;
  readonly rssMb: number;
}

/** Offers so many calls at a steady rate, whether or not the ones before have ended. */
export async function offer(to: Contestant, calls: number, ratePerSecond: number): Promise<Taken> {
  const tookMs: number[] = [];
  let errors = 0;
  let rssBytes = 0;
  const all: Promise<void>[] = [];
  const one = async (n: number): Promise<void> => {
    const startedMs = performance.now();
    if (!(await to.call(n))) errors++;
    tookMs.push(performance.now() - startedMs);
  };
  const startedMs = performance.now();
  while (all.length < calls) {
    const due = Math.min(calls, Math.floor(((performance.now() - startedMs) * ratePerSecond) / 1_000));
    while (all.length < due) all.push(one(all.length));
    rssBytes = Math.max(rssBytes, process.memoryUsage.rss());
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const openAtEnd = calls - tookMs.length;
  await Promise.all(all);
  const ms = performance.now() - startedMs;
  tookMs.sort((a, b) => a - b);
  const quantile = (share: number): number => Math.round(tookMs[Math.floor((calls - 1) * share)] ?? NaN);
  return {
    perSecond: Math.round(((calls - errors) / ms) * 1_000),
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    errors,
    amplification: Math.round((to.requests() / calls) * 100) / 100,
    openAtEnd,
    rssMb: Math.round(rssBytes / 1_048_576),
  };
}
