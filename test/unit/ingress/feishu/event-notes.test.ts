import { of } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';

import { SealedTickets } from '../../../../src/adapters/feishu/app-tickets.ts';
import { SealedVault, SecretBox } from '../../../../src/adapters/system/sealed-vault.ts';
import { EventNotes } from '../../../../src/ingress/feishu/event-notes.ts';
import type { EntryStore } from '../../../../src/ports/vault.ts';
import { collect } from '../../../support/collect.ts';
import { type EventDoor, openEventDoor, vectorApp } from '../../../support/event-door.ts';

let door: EventDoor;
afterEach(() => door.close());

const ticketsIn = (entries: EntryStore) => new SealedTickets(new SealedVault(entries, new SecretBox(['k'.repeat(32)])));
const ticket = (text: string, ts = '1700000001.5') => ({
  ...{ uuid: `ev-${text}`, ts, type: 'event_callback' },
  event: { type: 'app_ticket', app_id: vectorApp.id, app_ticket: text },
});
const revocation = {
  schema: '2.0',
  header: {
    event_id: 'ev-r',
    event_type: 'auth.user_access_token.revoked_v4',
    app_id: vectorApp.id,
    create_time: '1700000000123',
  },
  event: { user_id: { open_id: 'ou_1' }, revoke_reason: 'unbind' },
};

describe('the ticket of a store app', () => {
  const open = () => openEventDoor({ notes: ({ entries }) => new EventNotes({ tickets: ticketsIn(entries) }) });
  const kept = () => collect(ticketsIn(door.store.entries).newest(vectorApp.id)).values;

  it('is kept, and goes neither to the topic nor to the log, at whichever door it comes', async () => {
    door = await open();
    expect((await door.deliver(ticket('ticket-one'))).status).toBe(200);
    expect(kept()).toEqual(['ticket-one']);
    expect((await door.deliverCallback(ticket('ticket-two'))).status).toBe(200);
    expect(kept()).toEqual(['ticket-two']);

    expect(await door.events()).toEqual([]);
    expect(door.log.text).not.toContain('ticket-');
  });

  it('gives way to a newer one, and not to an older one that is delivered again', async () => {
    door = await open();
    await door.deliver(ticket('ticket-new', '1700000001.5'));
    await door.deliver(ticket('ticket-old', '1699996401.5'));
    expect(kept()).toEqual(['ticket-new']);
    await door.deliver(ticket('ticket-newest', '1700000002'));
    expect(kept()).toEqual(['ticket-newest']);
  });

  it('ends at the door also where nothing keeps it', async () => {
    door = await openEventDoor();
    expect((await door.deliver(ticket('ticket-one'))).status).toBe(200);
    expect([await door.events(), door.log.text.includes('ticket-one')]).toEqual([[], false]);
  });
});

it('the end of a consent is noted, with its time, before its event is on the topic', async () => {
  const revoked: string[] = [];
  door = await openEventDoor({
    notes: () =>
      new EventNotes({
        tickets: { keep: () => of(undefined) },
        consent: {
          revoke: (app, openId, atMs) => {
            revoked.push(`${app} ${openId} ${atMs}`);
            return of(undefined);
          },
        },
      }),
  });
  expect((await door.deliver(revocation)).status).toBe(200);
  expect(revoked).toEqual([`${vectorApp.id} ou_1 1700000000123`]);
  expect((await door.events()).map(({ id }) => id)).toEqual(['ev-r']);
});
