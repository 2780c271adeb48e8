import { defer, type Observable, of } from 'rxjs';

import { QuotaBook, type QuotaBookOptions } from '../../operators/limit/quota-book.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LimitKey } from '../../ports/profile.ts';
import type { BucketView, QuotaAsk, QuotaFleet, QuotaLog, QuotaRefusal, QuotaReply } from '../../ports/quota-log.ts';

/** {@link QuotaLog} in this process: never away, answers at once. It lives as long as the process. */
export class MemoryQuotaLog implements QuotaLog {
  readonly #book: QuotaBook;
  readonly #clock: Clock;

  constructor(clock: Clock, options: QuotaBookOptions = {}) {
    this.#clock = clock;
    this.#book = new QuotaBook(options);
  }

  take({ limits, want, aheadMs }: QuotaAsk): Observable<QuotaReply> {
    return defer(() => of(this.#book.take(limits, want(), this.#clock.now(), aheadMs)));
  }

  giveBack(limits: readonly LimitKey[], stamps: readonly number[]): void {
    this.#book.giveBack(limits, stamps);
  }

  record(limit: LimitKey, agoMs: readonly number[]): void {
    this.#book.record(limit, agoMs, this.#clock.now());
  }

  refused(refusal: QuotaRefusal): Observable<BucketView> {
    return defer(() => of(this.#book.refused(refusal, this.#clock.now())));
  }

  ready(): boolean {
    return true;
  }

  fleet(): QuotaFleet {
    return { replicas: 1, epoch: 'memory' };
  }
}
