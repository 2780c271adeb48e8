import { concat, defer, from, map, type Observable, repeat, takeWhile, timer } from 'rxjs';

import { type DeadLetterFilter, filterWords } from '../../model/dead-letters/filter.ts';
import { LarkspurError } from '../../model/errors.ts';
import type {
  DeadLetterDesk,
  DeadLetterDetail,
  DeadLetterList,
  ListQuestion,
  RedriveOrder,
  RedrivePreview,
  RunView,
} from '../../ports/dead-letter-desk.ts';
import { type AdminAddress, askAdmin } from '../admin-client.ts';

const lookMs = 500;

/** {@link DeadLetterDesk} of another process, over its admin port. */
export class RemoteDesk implements Omit<DeadLetterDesk, 'runs'> {
  readonly #address: AdminAddress;

  constructor(address: AdminAddress) {
    this.#address = address;
  }

  list({ filter, by, records }: ListQuestion): Observable<DeadLetterList> {
    return this.#ask('GET', '/admin/dead-letters', {
      ...filterWords(filter),
      by: by.join(','),
      records: String(records),
    });
  }

  show(ref: string): Observable<DeadLetterDetail> {
    return this.#ask('GET', '/admin/dead-letters/show', { ref });
  }

  preview(filter: DeadLetterFilter, perSecond: number): Observable<RedrivePreview> {
    return this.#ask('GET', '/admin/redrives/preview', { ...filterWords(filter), rate: String(perSecond) });
  }

  redrive({ run, filter, perSecond, who }: RedriveOrder): Observable<RunView> {
    const words = { ...filterWords(filter), run, rate: String(perSecond), who };
    return this.#follow(run, this.#ask('POST', '/admin/redrives', {}, words));
  }

  undo(run: string, who: string): Observable<RunView> {
    return this.#follow(run, this.#ask('POST', `/admin/redrives/${run}/undo`, {}, { who }));
  }

  ordered(run: string): Observable<Omit<RedriveOrder, 'who'>> {
    return this.#ask('GET', `/admin/redrives/${run}/order`, {});
  }

  /** Asks the process to let a run end; errors with `not_found` when none of that name runs there. */
  stopRun(run: string): Observable<unknown> {
    return this.#ask('POST', `/admin/redrives/${run}/stop`, {}, {});
  }

  stop(run: string): boolean {
    this.stopRun(run).subscribe({ error: () => undefined });
    return true;
  }

  #follow(run: string, started$: Observable<RunView>): Observable<RunView> {
    const look$ = this.#ask<{ runs: readonly RunView[] }>('GET', '/admin/redrives', {}).pipe(
      map(({ runs }) => {
        const found = runs.find((one) => one.run === run);
        if (found !== undefined) return found;
        throw new LarkspurError('not_found', `the process at ${this.#address.url} does not know ${run} any more`, {
          cure: 'it was restarted: order the run again under its name, and it goes on',
        });
      }),
      repeat({ delay: () => timer(lookMs) }),
      takeWhile(({ state }) => state === 'running', true),
    );
    return concat(started$, look$);
  }

  #ask<T>(
    method: 'GET' | 'POST',
    path: string,
    query: Readonly<Record<string, string>>,
    body?: Readonly<Record<string, string>>,
  ): Observable<T> {
    const question = { method, path, query, ...(body === undefined ? {} : { body }) };
    return defer(() => from(askAdmin<T>(this.#address, question)));
  }
}
