/** Who takes part: takes calls, and says how each ended. */
export interface Contestant {
  /** Resolves with whether there was a good answer. */
  readonly call: (n: number) => Promise<boolean>;
  /** Attempts asked for so far: requests at the upstream, and those that still queue for it. */
  readonly requests: () => number;
  readonly close: () => Promise<void>;
}

/** How one call ended. */
export interface Offered {
  /** When it was offered, from the start. */
  readonly atMs: number;
  readonly tookMs: number;
  readonly good: boolean;
}

/** What came of a load. */
export interface Taken {
  /** In the order in which they ended. */
  readonly ended: readonly Offered[];
  /** Calls without an end when the last one was offered. */
  readonly openAtEnd: number;
  /** Calls that never ended. */
  readonly lost: number;
  readonly tookMs: number;
  readonly rssMb: number;
}

const patienceMs = 120_000;

/** Offers calls when they are due, whether or not those before have ended, and waits for what is open then. */
export async function offer(to: Contestant, calls: number, dueAt: (ms: number) => number): Promise<Taken> {
  const ended: Offered[] = [];
  const open = new Set<Promise<void>>();
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  const one = async (n: number): Promise<void> => {
    const atMs = elapsedMs();
    const good = await to.call(n);
    ended.push({ atMs, tookMs: elapsedMs() - atMs, good });
  };
  let rssBytes = 0;
  for (let n = 0; n < calls;) {
    const due = Math.min(calls, Math.floor(dueAt(elapsedMs())));
    for (; n < due; n++) {
      const call = one(n).finally(() => open.delete(call));
      open.add(call);
    }
    rssBytes = Math.max(rssBytes, process.memoryUsage.rss());
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const openAtEnd = open.size;
  const tired = new Promise((resolve) => setTimeout(resolve, patienceMs).unref());
  await Promise.race([Promise.all(open), tired]);
  return { ended, openAtEnd, lost: open.size, tookMs: elapsedMs(), rssMb: Math.round(rssBytes / 1_048_576) };
}
