import type { Observable } from 'rxjs';

/** Keeps the tickets of store apps. A ticket is a secret. */
export interface AppTickets {
  /**
   * Keeps a ticket unless a newer one is kept. Emits once, then completes.
   * @param atMs when it was made, epoch milliseconds; `undefined`: it is taken for the newest
   */
  keep(app: string, ticket: string, atMs: number | undefined): Observable<void>;
}
