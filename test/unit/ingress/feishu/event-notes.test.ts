import { EMPTY, of } from 'rxjs';
import { afterEach, expect, it } from 'vitest';

import { SealedVault, SecretBox } from '../../../../src/adapters/system/sealed-vault.ts';
import { EventNotes } from '../../../../src/ingress/feishu/event-notes.ts';
import type { EntryStore } from '../../../../src/ports/vault.ts';
import { collect } from '../../../support/collect.ts';
import { type EventDoor, openEventDoor, vectorApp } from '../../../support/event-door.ts';

let door: EventDoor;
afterEach(() => door.close());

const vaultOver = (entries: EntryStore, key = 'k'.repeat(32)) => new SealedVault(entries, new SecretBox([key]));
const ticket = (text: string) => ({
  ...{ uuid: 'ev-ticket', ts: '1700000001.5', type: 'event_callback' },
  event: { type: 'app_ticket', app_id: vectorApp.id, app_ticket: text },
});
const revocation = {
  schema: '2.0',
  header: { event_id: 'ev-r', event_type: 'auth.user_access_token.revoked_v4', app_id: vectorApp.id },
  event: { user_id: { open_id: 'ou_1' }, revoke_reason: 'unbind' },
};

it('the ticket of a store app is kept, the newest of them, and goes neither to the topic nor to the log', async () => {
  door = await openEventDoor({
    notes: ({ entries }) =>
      new EventNotes({
        ...{ vault: vaultOver(entries), ticketKey: (app) => `ticket/${app}` },
        consent: { revoke: () => EMPTY },
      }),
  });
  expect((await door.deliver(ticket('ticket-one'))).status).toBe(200);
  expect((await door.deliver(ticket('ticket-two'))).status).toBe(200);

  const [kept] = collect(vaultOver(door.store.entries).read(`ticket/${vectorApp.id}`)).values;
  expect(kept?.text).toBe('ticket-two');
  expect(await door.events()).toEqual([]);
  expect(door.log.text).not.toContain('ticket-');
});

it('the end of a consent is noted before its event is on the topic', async () => {
  const revoked: string[] = [];
  door = await openEventDoor({
    notes: ({ entries }) =>
      new EventNotes({
        ...{ vault: vaultOver(entries), ticketKey: (app) => app },
        consent: {
          revoke: (app, openId) => {
            revoked.push(`${app} ${openId}`);
            return of(undefined);
          },
        },
      }),
  });
  expect((await door.deliver(revocation)).status).toBe(200);
  expect(revoked).toEqual([`${vectorApp.id} ou_1`]);
  expect((await door.events()).map(({ id }) => id)).toEqual(['ev-r']);
});
