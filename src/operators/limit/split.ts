import type { LimitKey } from '../../ports/profile.ts';
import type { QuotaFleet, QuotaLog } from '../../ports/quota-log.ts';

import type { BucketTable } from './bucket-table.ts';
import type { Outage } from './shadow-log.ts';

const unknownFleetMs = 100;

/** Who decides on a start: the log, this process alone, or both because the log is back and may not know all yet. */
type Ruling =
  | { readonly kind: 'log' }
  | { readonly kind: 'here' }
  | { readonly kind: 'wait'; readonly untilMs: number; readonly key: string };

/**
 * What holds while the shared log is away: the limits are split among the replicas that were known last, each keeps its
 * part by its own grants. When the log is back it is told what was started without it, and both rules hold until no
 * such start can be in a window any more; so nothing is granted twice however the replicas come back.
 */
export class Split {
  readonly #log: QuotaLog;
  readonly #buckets: BucketTable;
  #outage: Outage | undefined;
  /** As it was last known. */
  #fleet: QuotaFleet = { replicas: 0, epoch: '' };

  constructor(log: QuotaLog, buckets: BucketTable) {
    this.#log = log;
    this.#buckets = buckets;
  }

  /** Replicas among which the limits are split; 0: they are not. */
  get replicas(): number {
    return this.#outage?.fleet.replicas ?? 0;
  }

  /** The outage that still matters, if there is one. */
  outage(nowMs: number): Outage | undefined {
    const fleet = this.#log.fleet();
    const before = this.#fleet;
    if (fleet.replicas > 0) this.#fleet = fleet;
    // It came back empty before anybody here had noticed that it was away.
    if (this.#outage === undefined && before.epoch !== '' && fleet.epoch !== before.epoch) {
      const overMs = nowMs + this.#buckets.unsureForMs();
      this.#outage = { sinceMs: nowMs, fleet: before, backMs: nowMs, overMs };
    }
    const outage = this.#outage;
    if (outage === undefined) return undefined;
    if (outage.overMs <= nowMs) this.#outage = undefined;
    else if (outage.backMs === undefined && this.#log.ready()) {
      this.#outage = { ...outage, backMs: nowMs, overMs: nowMs + this.#buckets.unsureForMs() };
    }
    return this.#outage;
  }

  /** The log gave no answer. */
  begin(nowMs: number): Outage {
    const known = this.#outage;
    if (known !== undefined && known.backMs === undefined) return known;
    this.#outage = { sinceMs: nowMs, fleet: this.#log.fleet(), backMs: undefined, overMs: Infinity };
    return this.#outage;
  }

  /** Who decides on a start of these buckets. Before the log is asked it is told what it does not know. */
  rule(limits: readonly LimitKey[], nowMs: number, outage: Outage): Ruling {
    // Who never heard of the others cannot know its part.
    if (outage.fleet.replicas === 0 && outage.backMs === undefined) {
      return { kind: 'wait', untilMs: nowMs + unknownFleetMs, key: limits[0]?.key ?? '' };
    }
    let untilMs = nowMs;
    let key = '';
    for (const limit of limits) {
      if (limit.windows.length === 0) continue;
      const bucket = this.#buckets.of(limit, nowMs);
      if (bucket.outlived(outage, nowMs)) continue;
      const atMs = bucket.splitFreeAtMs(nowMs, outage);
      if (atMs > untilMs) [untilMs, key] = [atMs, limit.key];
    }
    if (untilMs > nowMs) return { kind: 'wait', untilMs, key };
    if (outage.backMs === undefined) return { kind: 'here' };
    this.#tellOnce(limits, nowMs, outage);
    return { kind: 'log' };
  }

  #tellOnce(limits: readonly LimitKey[], nowMs: number, outage: Outage): void {
    const lostAll = this.#log.fleet().epoch !== outage.fleet.epoch;
    for (const limit of limits) {
      if (limit.windows.length === 0) continue;
      const bucket = this.#buckets.of(limit, nowMs);
      if (bucket.shadow.recorded === outage) continue;
      bucket.shadow.recorded = outage;
      this.#log.record(limit, bucket.shadow.unrecordedAgoMs(nowMs, outage, lostAll));
    }
  }
}
