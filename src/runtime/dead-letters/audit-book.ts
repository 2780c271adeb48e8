import { ignoreElements, map, type Observable, reduce } from 'rxjs';

import { auditRecord } from '../../model/audit.ts';
import type { DeadLetterFilter } from '../../model/dead-letters/filter.ts';
import { jsonOf } from '../../model/json-levels.ts';
import { isTree } from '../../model/schema-words.ts';
import { isoTime } from '../../model/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RunView } from '../../ports/dead-letter-desk.ts';
import type { Stores } from '../stores.ts';

/** How a redrive was ordered. */
export interface Started {
  readonly filter: DeadLetterFilter;
  readonly perSecond: number;
}

/** What redrives leave on the topic `audit`, and what of it a later process needs. */
export class AuditBook {
  readonly #stores: Pick<Stores, 'sink' | 'reader'>;
  readonly #clock: Clock;

  constructor(stores: Pick<Stores, 'sink' | 'reader'>, clock: Clock) {
    this.#stores = stores;
    this.#clock = clock;
  }

  /** Writes how a run stands now; completes when that is durable. @param from how it stood before */
  write(by: string, { kind, run, state }: RunView, from: string | null, more: object): Observable<never> {
    const at = isoTime(this.#clock.wall());
    const entry = auditRecord({ at, by, what: whatOf(kind, run), from, to: { state, ...more } });
    return this.#stores.sink.append(entry).pipe(ignoreElements());
  }

  /** How the redrive of that name was ordered last; `undefined` when it never was. Emits once. */
  lastStart(run: string): Observable<Started | undefined> {
    return this.#stores.reader.scan('audit').pipe(
      map(({ value }) => startIn(value, whatOf('redrive', run))),
      reduce<Started | undefined, Started | undefined>((found, started) => started ?? found, undefined),
    );
  }
}

function whatOf(kind: RunView['kind'], run: string): string {
  return `${kind}/${run}`;
}

function startIn(value: Buffer | null, what: string): Started | undefined {
  const entry = jsonOf(value?.toString('utf8') ?? '');
  if (!isTree(entry) || entry['what'] !== what || !isTree(entry['to']) || entry['from'] !== null) return undefined;
  return entry['to'] as unknown as Started;
}
