import type { Grant, Tokens } from './tokens.ts';

/** Store apps: a ticket, which comes as an event, gives the token of the app, and that one a token for each tenant. */
export class StoreApps {
  readonly #tokens: Tokens;
  readonly #newText: () => string;
  readonly #tickets = new Map<string, string>();
  readonly #wanted = new Map<string, () => void>();

  constructor(tokens: Tokens, newText: () => string) {
    this.#tokens = tokens;
    this.#newText = newText;
  }

  /** A new ticket of an app; those before it serve no longer. @param resend sends the newest when the app asks for it */
  newTicket(app: string, resend: () => void): string {
    const ticket = `ticket-${this.#newText()}`;
    this.#tickets.set(app, ticket);
    this.#wanted.set(app, resend);
    return ticket;
  }

  /** The app wants its ticket. */
  resend(app: unknown): void {
    if (typeof app === 'string') this.#wanted.get(app)?.();
  }

  appToken(app: unknown, secret: unknown, ticket: unknown): Grant | 10_003 | 10_012 {
    if (typeof app !== 'string' || !this.#tokens.admits(app, secret)) return 10_003;
    return ticket === this.#tickets.get(app) ? this.#tokens.grant({ id: app, tenant: '-' }, 'a') : 10_012;
  }

  tenantToken(appToken: unknown, tenant: unknown): Grant | 10_003 | 10_013 {
    if (typeof tenant !== 'string' || typeof appToken !== 'string') return 10_003;
    // The token of a tenant or a user is alive, too, and is no app's.
    const grant = appToken.startsWith('a-') ? this.#tokens.find(appToken) : undefined;
    return grant === undefined ? 10_013 : this.#tokens.grant({ id: grant.app, tenant }, 't');
  }
}
