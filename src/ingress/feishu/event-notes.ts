import { map, type Observable, of } from 'rxjs';

import type { AppTickets } from '../../ports/app-tickets.ts';
import type { UserConsent } from '../../ports/user-consent.ts';

import { openIdOf } from './event-subject.ts';
import type { FeishuEvent } from './read-event.ts';

/** Where events leave what the house needs for itself. */
export interface EventNotesOptions {
  readonly tickets: AppTickets;
  /** Absent: no user's token is kept. */
  readonly consent?: Pick<UserConsent, 'revoke'>;
}

const revokedType = 'auth.user_access_token.revoked_v4';

/**
 * Takes note of events that concern the house itself: the ticket of a store app, which is a secret and goes no further, and
 * the end of a user's consent. An event that comes late changes nothing that is newer than it.
 */
export class EventNotes {
  readonly #options: EventNotesOptions;

  constructor(options: EventNotesOptions) {
    this.#options = options;
  }

  /** Emits once it is noted; `true`: the event ends here. `undefined`: it does not concern the house. */
  take(app: string, { type, event, createdAtMs }: FeishuEvent): Observable<boolean> | undefined {
    const { tickets, consent } = this.#options;
    if (type === 'app_ticket') {
      const ticket = event['app_ticket'];
      return typeof ticket === 'string' && ticket !== ''
        ? tickets.keep(app, ticket, createdAtMs).pipe(map(() => true))
        : of(true);
    }
    const openId = type === revokedType ? openIdOf(event) : undefined;
    return openId === undefined ? undefined : consent?.revoke(app, openId, createdAtMs).pipe(map(() => false));
  }
}
