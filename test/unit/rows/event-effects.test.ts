import { afterEach, describe, expect, it, vi } from 'vitest';

import type { DeadLetterHistory } from '../../../src/model/dead-letter.ts';
import type { Event } from '../../../src/model/event.ts';
import { headerText } from '../../../src/model/record.ts';
import type { Result } from '../../../src/model/result.ts';
import { type EventHouse, openEventHouse } from '../../support/event-house.ts';

const waiting = { timeout: 30_000, interval: 20 };
vi.setConfig({ testTimeout: 60_000 });

let house: EventHouse;
afterEach(() => house.close());

const results = async () => (await house.records('results')).map(({ value }) => JSON.parse(String(value)) as Result);
const approval = (uuid: string, status: string) => ({
  ...{ uuid, ts: `${Date.now() / 1_000}`, type: 'event_callback' },
  event: { type: 'approval_instance', app_id: 'cli_a', instance_code: 'I-1', approval_code: 'A-1', status },
});

describe('what events bring about', () => {
  it('F8: an event that Feishu tells in both schemas has one effect, under an id that both routes give it', async () => {
    const call = `'{ "id": "leave/" & event.USER, "path": "/open-apis/im/v1/messages", "query": { "receive_id_type": "open_id" }, "body": { "receive_id": event.USER, "msg_type": "text", "content": $string({ "text": "x" }) } }'`;
    house = await openEventHouse(`
  - { on: contact.user.deleted_v3, name: deleted, call: ${call.replaceAll('USER', 'object.open_id')} }
  - { on: user_leave, name: leave, call: ${call.replaceAll('USER', 'open_id')} }`);
    const old = {
      ...{ uuid: 'u-1', ts: `${Date.now() / 1_000}`, type: 'event_callback' },
      event: { type: 'user_leave', app_id: 'cli_a', open_id: 'ou_1' },
    };
    const created = { app_id: 'cli_a', create_time: String(Date.now()) };
    const header = { event_id: 'ev-1', event_type: 'contact.user.deleted_v3', ...created };
    const said = [old, { schema: '2.0', header, event: { object: { open_id: 'ou_1' } } }];
    expect(await Promise.all(said.map((body) => house.deliver(body)))).toEqual([200, 200]);

    await vi.waitFor(async () => expect(await results()).toHaveLength(2), waiting);
    expect((await results()).map(({ id, status }) => [id, status])).toEqual([
      ['leave/ou_1', 'ok'],
      ['leave/ou_1', 'duplicate'],
    ]);
    expect(house.sandbox.effects().effects).toBe(1);
  });

  it('F9: an event that its route cannot use is answered 200 and kept as a dead letter, and the next of its instance goes on', async () => {
    house = await openEventHouse(`
  - on: approval_instance
    call: 'event.status in ["PENDING", "APPROVED"] ? { "path": "/open-apis/im/v1/messages", "query": { "receive_id_type": "chat_id" }, "body": { "receive_id": "oc_1", "msg_type": "text", "content": $string({ "text": "x" }) } } : $error("unknown status " & event.status)'`);
    const unknown = approval('u-1', 'FOO');
    expect(await house.deliver(unknown)).toBe(200);
    expect(await house.deliver(approval('u-2', 'APPROVED'))).toBe(200);

    await vi.waitFor(async () => expect(await results()).toHaveLength(1), waiting);
    const [letter, ...others] = await house.records('dead-letters');
    const history = JSON.parse(headerText(letter?.headers ?? [], 'larkspur-history') ?? '{}') as DeadLetterHistory;
    const { id, body } = JSON.parse(String(letter?.value)) as Event;
    expect([others, history.reason, history.message]).toEqual([
      [],
      'permanent',
      expect.stringContaining('unknown status FOO') as unknown,
    ]);
    expect([id, body]).toEqual(['u-1', unknown]);
  });

  it('S000-80: a dead upstream has one breaker, which holds the calls of an event route with those that were handed in', async () => {
    house = await openEventHouse(
      `  - { on: im.message.receive_v1, call: { path: /open-apis/im/v1/messages, query: { receive_id_type: chat_id }, body: '{"receive_id": event.message.chat_id, "msg_type": "text", "content": event.message.content}' } }`,
      () => '',
      '',
      ', retry: { baseMs: 20, capMs: 200, budget: { start: 1000, cap: 1000 } }, breaker: { coolDownMs: 200, maxOpenMs: 200, rampMs: 100 }',
    );
    const { sandbox, served, target } = house;
    sandbox.setFaults([{ kind: '503' }]);
    const handIn = (n: number) => {
      // Each to a chat of its own: a chat takes five a second.
      const body = { receive_id: `oc_in_${n}`, msg_type: 'text', content: JSON.stringify({ text: 'x' }) };
      const call = { path: '/open-apis/im/v1/messages', query: { receive_id_type: 'chat_id' }, body };
      return fetch(`${served.ingressUrl}/v1/calls?key=k${n}`, { method: 'POST', body: JSON.stringify(call) });
    };
    await Promise.all([
      sandbox.sendEvents({ target, events: 60, chats: 60 }),
      ...Array.from({ length: 60 }, async (_, n) => handIn(n)),
    ]);

    const breakers = () => [...(served.worker?.house.destinations.get('feishu')?.breakers?.entries() ?? [])];
    await vi.waitFor(
      () => expect(breakers().map(([, breaker]) => breaker.snapshot(performance.now()).state)).toEqual(['open']),
      waiting,
    );
    // Held as they are, calls go on only as its probes, which fail.
    const refusals = () => sandbox.stats().byStatus['503'] ?? 0;
    const atOpening = refusals();
    await vi.waitFor(() => expect(refusals()).toBeGreaterThan(atOpening + 5), waiting);
    expect((await house.records('calls')).length).toBe(120);
    // Those that were out when it opened, and probes.
    expect(refusals()).toBeLessThan(60);
    expect([await results(), await house.records('dead-letters')]).toEqual([[], []]);

    sandbox.setFaults([]);
    await vi.waitFor(async () => expect(await results()).toHaveLength(120), { timeout: 50_000, interval: 50 });
  });
});
