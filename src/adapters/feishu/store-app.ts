import { map, mergeMap, type Observable, of } from 'rxjs';

import { andThen } from '../../operators/interop/and-then.ts';

import type { SealedTickets } from './app-tickets.ts';
import type { AuthCalls } from './auth-calls.ts';
import type { Fetched } from './token-slot.ts';

/** The platform sends a ticket about every hour; one that is asked for comes as an event. */
const ticketWaitMs = 5_000;
const noTicketCodes: ReadonlySet<number | undefined> = new Set([10_012, 10_013]);

/**
 * Tokens of a store app: its ticket, which comes as an event, gives the token of the app, and that one token per tenant. While
 * there is no ticket the platform is asked to send one, and whoever needs a token waits.
 */
export class StoreApp {
  readonly #id: string;
  readonly #secret: string;
  readonly #auth: AuthCalls;
  readonly #tickets: SealedTickets;

  constructor(app: { readonly id: string; readonly secret: string }, auth: AuthCalls, tickets: SealedTickets) {
    this.#id = app.id;
    this.#secret = app.secret;
    this.#auth = auth;
    this.#tickets = tickets;
  }

  /** Asks for the token of the app. */
  appToken(): Observable<Fetched> {
    return andThen(this.#tickets.newest(this.#id), (ticket = ''): Observable<Fetched> => {
      if (ticket === '') return this.#wanted();
      const body = { app_id: this.#id, app_secret: this.#secret, app_ticket: ticket };
      const about = { app: this.#id, secrets: [this.#secret, ticket] };
      return this.#auth
        .token('/open-apis/auth/v3/app_access_token', body, 'app_access_token', about)
        .pipe(
          mergeMap((fetched) =>
            fetched.kind !== 'token' && noTicketCodes.has(fetched.code) ? this.#wanted() : of(fetched),
          ),
        );
    });
  }

  /** Asks for the token of a tenant. @param appToken the app's own */
  tenantToken(tenant: string, appToken: string): Observable<Fetched> {
    const body = { app_access_token: appToken, tenant_key: tenant };
    const about = { app: this.#id, secrets: [this.#secret, appToken] };
    return this.#auth.token('/open-apis/auth/v3/tenant_access_token', body, 'tenant_access_token', about);
  }

  #wanted(): Observable<Fetched> {
    const body = { app_id: this.#id, app_secret: this.#secret };
    const about = { app: this.#id, secrets: [this.#secret] };
    const message = `app ${this.#id} has no app_ticket yet; the platform was asked to send one as an event`;
    const waits: Fetched = { kind: 'unavailable', askedMs: ticketWaitMs, message };
    return this.#auth
      .request('/open-apis/auth/v3/app_ticket/resend', body, about)
      .pipe(map((failed) => (failed === undefined || noTicketCodes.has(failed.code) ? waits : failed)));
  }
}
