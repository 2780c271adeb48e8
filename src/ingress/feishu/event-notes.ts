import { map, type Observable, of } from 'rxjs';

import type { UserConsent } from '../../ports/user-consent.ts';
import type { Vault } from '../../ports/vault.ts';

import { openIdOf } from './event-subject.ts';
import type { FeishuEvent } from './read-event.ts';

/** Where events leave what the house needs for itself. */
export interface EventNotesOptions {
  readonly vault: Vault;
  /** Where the ticket of an app is kept. */
  readonly ticketKey: (app: string) => string;
  readonly consent: Pick<UserConsent, 'revoke'>;
}

const ticketLifeMs = 7 * 86_400_000;
const revokedType = 'auth.user_access_token.revoked_v4';

/**
 * Takes note of events that concern the house itself: the ticket of a store app, which is a secret and goes no further, and
 * the end of a user's consent.
 */
export class EventNotes {
  readonly #options: EventNotesOptions;

  constructor(options: EventNotesOptions) {
    this.#options = options;
  }

  /** Emits once it is noted; `true`: the event ends here. `undefined`: it does not concern the house. */
  take(app: string, { type, event }: FeishuEvent): Observable<boolean> | undefined {
    if (type === 'app_ticket') {
      const { vault, ticketKey } = this.#options;
      const ticket = event['app_ticket'];
      return typeof ticket === 'string' && ticket !== ''
        ? vault.replace(ticketKey(app), ticket, ticketLifeMs)
        : of(true);
    }
    if (type === revokedType) {
      const openId = openIdOf(event);
      return openId === undefined ? undefined : this.#options.consent.revoke(app, openId).pipe(map(() => false));
    }
    return undefined;
  }
}
