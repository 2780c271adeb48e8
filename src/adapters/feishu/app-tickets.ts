import { map, type Observable, of } from 'rxjs';

import { isTree } from '../../model/schema-words.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import type { AppTickets } from '../../ports/app-tickets.ts';
import type { Vault } from '../../ports/vault.ts';

interface Kept {
  readonly ticket: string;
  readonly atMs: number;
}

const keyOf = (app: string): string => `ticket/${app}`;
const keptMs = 7 * 86_400_000;

/** {@link AppTickets}, sealed in the vault. The platform makes a ticket about every hour, and delivers some of them late. */
export class SealedTickets implements AppTickets {
  readonly #vault: Vault;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  keep(app: string, ticket: string, atMs: number | undefined): Observable<void> {
    return andThen(this.#vault.read(keyOf(app)), (entry): Observable<void> => {
      const kept = entry === undefined ? undefined : keptIn(entry.text);
      const madeAtMs = atMs ?? kept?.atMs ?? 0;
      if (kept !== undefined && kept.atMs > madeAtMs) return of(undefined);
      const text = JSON.stringify({ ticket, atMs: madeAtMs });
      const written$: Observable<boolean> =
        entry === undefined
          ? this.#vault.replace(keyOf(app), text, keptMs)
          : this.#vault.write(keyOf(app), text, entry.version, keptMs);
      return andThen(written$, (ours) => (ours ? of(undefined) : this.keep(app, ticket, atMs)));
    });
  }

  /** The newest ticket of an app; `undefined`: none is kept. Emits once, then completes. */
  newest(app: string): Observable<string | undefined> {
    return this.#vault
      .read(keyOf(app))
      .pipe(map((entry) => (entry === undefined ? undefined : keptIn(entry.text)?.ticket)));
  }
}

function keptIn(text: string): Kept | undefined {
  const value: unknown = JSON.parse(text);
  if (!isTree(value) || typeof value['ticket'] !== 'string' || typeof value['atMs'] !== 'number') return undefined;
  return { ticket: value['ticket'], atMs: value['atMs'] };
}
