import { concat, defer, from, map, type Observable, repeat, takeWhile, timer } from 'rxjs';
import { request } from 'undici';

import { type DeadLetterFilter, filterWords } from '../../model/dead-letters/filter.ts';
import { type ErrorCode, errorCodes, LarkspurError, messageOf } from '../../model/errors.ts';
import type {
  DeadLetterDesk,
  DeadLetterDetail,
  DeadLetterList,
  ListQuestion,
  RedriveOrder,
  RedrivePreview,
  RunView,
} from '../../ports/dead-letter-desk.ts';

/** An admin port, and what it asks for. */
export interface AdminAddress {
  readonly url: string;
  readonly token: string | undefined;
}

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
    return defer(() => from(this.#send(method, path, query, body) as Promise<T>));
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    query: Readonly<Record<string, string>>,
    body: Readonly<Record<string, string>> | undefined,
  ): Promise<unknown> {
    const { url, token } = this.#address;
    const target = new URL(path, url);
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const reply = await request(target, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headersTimeout: 600_000,
    }).catch((error: unknown) => {
      throw new LarkspurError('not_found', `no process answers at ${target.origin}: ${messageOf(error)}`, {
        cure: 'name the admin port of a worker with --url',
        cause: error,
      });
    });
    const answer = (await reply.body.json()) as { readonly code?: unknown; readonly detail?: string };
    if (reply.statusCode < 300) return answer;
    const code = errorCodes.find((known): known is ErrorCode => known === answer.code) ?? 'internal';
    throw new LarkspurError(code, answer.detail ?? `HTTP ${reply.statusCode}`);
  }
}
