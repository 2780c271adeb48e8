/** Items that left at about the same time for the same time. */
interface Batch {
  readonly fromMs: number;
  dueMs: number;
  count: number;
  /** Of the one that stands furthest in front, and of the one furthest behind. */
  firstOrder: number;
  lastOrder: number;
}

/** Parts of a tier's wait within which items count as one batch. */
const batchesPerTier = 32;
// Who is later than that has gone another way; whoever counts on it would wait in vain.
const latestMs = 10_000;

/**
 * What of a flow waits outside, and when it comes back. Those of a tier come back in the order in which they left. An estimate:
 * it knows what left from here, and counts late ones no more. Memory is bounded by the number of tiers.
 */
export class Returns {
  readonly #tiers: readonly Batch[][];
  readonly #at: number[];

  constructor(tiers: number) {
    this.#tiers = Array.from({ length: tiers }, () => []);
    this.#at = this.#tiers.map(() => 0);
  }

  /** Items that are outside. */
  sizeAt(nowMs: number): number {
    this.#forgetLate(nowMs);
    let size = 0;
    for (const tier of this.#tiers) for (const { count } of tier) size += count;
    return size;
  }

  get empty(): boolean {
    return this.#tiers.every((tier) => tier.length === 0);
  }

  /** One leaves for so long. @param order where it stands among all */
  add(tier: number, nowMs: number, waitMs: number, order: number): void {
    const batches = this.#tiers[tier];
    const last = batches?.at(-1);
    const dueMs = nowMs + waitMs;
    if (last === undefined || dueMs - last.fromMs > waitMs / batchesPerTier) {
      batches?.push({ fromMs: dueMs, dueMs, count: 1, firstOrder: order, lastOrder: order });
      return;
    }
    last.dueMs = dueMs;
    last.count++;
    last.firstOrder = Math.min(last.firstOrder, order);
    last.lastOrder = Math.max(last.lastOrder, order);
  }

  /** One has come back. */
  back(nowMs: number): void {
    this.#forgetLate(nowMs);
    let due: Batch[] | undefined;
    for (const tier of this.#tiers) {
      const [first] = tier;
      if (first === undefined || first.fromMs > nowMs) continue;
      if (due === undefined || first.fromMs < (due[0]?.fromMs ?? 0)) due = tier;
    }
    const batch = due?.[0];
    if (batch === undefined) return;
    // Those that stand in front come back first.
    batch.firstOrder += (batch.lastOrder - batch.firstOrder) / batch.count;
    if (--batch.count === 0) due?.shift();
  }

  /**
   * How long it takes at that pace until nothing is left here, with what comes back before that and stands before `order`,
   * milliseconds.
   */
  lastMs(here: number, perSecond: number, nowMs: number, order: number): number {
    if (perSecond <= 0) return Infinity;
    this.#forgetLate(nowMs);
    this.#at.fill(0);
    let untilMs = nowMs + (here * 1_000) / perSecond;
    for (;;) {
      let next: Batch | undefined;
      let from = 0;
      for (let tier = 0; tier < this.#tiers.length; tier++) {
        const batch = this.#tiers[tier]?.[this.#at[tier] ?? 0];
        if (batch === undefined || (next !== undefined && next.dueMs <= batch.dueMs)) continue;
        next = batch;
        from = tier;
      }
      if (next === undefined || next.dueMs > untilMs) return untilMs - nowMs;
      untilMs += (before(next, order) * 1_000) / perSecond;
      this.#at[from] = (this.#at[from] ?? 0) + 1;
    }
  }

  clear(): void {
    for (const tier of this.#tiers) tier.length = 0;
  }

  #forgetLate(nowMs: number): void {
    for (const tier of this.#tiers) while (tier[0] !== undefined && tier[0].dueMs + latestMs < nowMs) tier.shift();
  }
}

/** How many of a batch stand before that order, as if they stood evenly. */
function before({ count, firstOrder, lastOrder }: Batch, order: number): number {
  if (order > lastOrder) return count;
  if (order <= firstOrder) return 0;
  return (count * (order - firstOrder)) / (lastOrder - firstOrder);
}
