import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';

import type { DeadLetterHistory } from '../../../src/model/dead-letter.ts';
import { type InRecord, headerText } from '../../../src/model/record.ts';
import { type EventHouse, openEventHouse } from '../../support/event-house.ts';

const folder = mkdtempSync(join(tmpdir(), 'larkspur-handlers-'));
const handler = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};
const waiting = { timeout: 60_000, interval: 20 };
vi.setConfig({ testTimeout: 90_000 });

const open: EventHouse[] = [];
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function house(routes: string): Promise<EventHouse> {
  const opened = await openEventHouse(routes);
  open.push(opened);
  return opened;
}

const history = (record: InRecord | undefined) =>
  JSON.parse(headerText(record?.headers ?? [], 'larkspur-history') ?? '{}') as DeadLetterHistory;

const answer = `'{"receive_id": event.message.chat_id, "msg_type": "text", "content": event.message.content}'`;
const toChat = 'path: /open-apis/im/v1/messages, query: { receive_id_type: chat_id }';

describe('routes', () => {
  it('a call template answers every event once, with duplicates, in the order of its chat', async () => {
    const { sandbox, target } = await house(`  - { on: im.message.receive_v1, call: { ${toChat}, body: ${answer} } }`);
    const { ids } = await sandbox.sendEvents({ target, events: 60, chats: 6, duplicates: 0.3 });

    await vi.waitFor(() => expect(sandbox.effects().effects).toBe(60), waiting);
    const expected = Object.fromEntries(Object.entries(ids).map(([chat, of]) => [chat, of.length]));
    expect(sandbox.verdict({ calls: expected })).toMatchObject({ missing: 0, twice: 0, outOfOrder: 0 });
  });

  it('each route of an event has an outcome of its own', async () => {
    const file = handler('throws.mjs', 'export default () => { throw new Error("broken on purpose"); };');
    const { sandbox, target, records, served } = await house(`
  - { on: '*', name: copy, topic: audit }
  - { on: im.message.*, name: gone, when: 'event.message.chat_id = "oc_9"', topic: audit }
  - { on: im.message.receive_v1, name: no-call, call: '{"path": 7}' }
  - { on: im.message.receive_v1, name: nothing, call: 'event.nothing' }
  - { on: im.message.receive_v1, name: two, call: '[{"path": "/echo/1"}, {"path": "/echo/2"}]' }
  - { on: im.message.receive_v1, name: hook, http: 'http://127.0.0.1:9/hook' }
  - { on: approval.*, name: other, topic: audit }
  - { on: im.message.receive_v1, name: breaks, call: '$error("no")' }
  - { on: im.message.receive_v1, name: throws, handler: '${file}' }`);
    await sandbox.sendEvents({ target, events: 1 });

    await vi.waitFor(async () => expect(await records('dead-letters')).toHaveLength(3), waiting);
    const letters = (await records('dead-letters')).map(history);
    expect(letters.map(({ reason, message }) => [reason, message]).sort()).toEqual([
      ['attempts_exhausted', 'route throws: broken on purpose'],
      ['invalid_call', 'route no-call: what it gives is no call'],
      ['permanent', 'route breaks: no'],
    ]);
    expect(await records('audit')).toHaveLength(1);
    const ids = (await records('calls')).map(({ value }) => (JSON.parse(String(value)) as { id: string }).id);
    expect(ids.map((id) => id.replace(/om_\w+/, 'om')).sort()).toEqual([
      'hook/cli_a/om',
      'two/cli_a/om',
      'two/cli_a/om/1',
    ]);
    const metrics = await fetch(`${served.adminUrl}/metrics`).then((response) => response.text());
    expect(metrics).toContain('larkspur_routes_total{route="nothing",outcome="idle"} 1');
    expect(metrics).toContain('larkspur_routes_total{route="gone",outcome="differs"} 1');
  });

  it('a handler that does not end is ended, and the next event finds a new thread', async () => {
    const file = handler(
      'hangs.mjs',
      `export default async (event, ctx) => {
         const { text } = JSON.parse(event.event.message.content);
         if (text === 'n=0') for (;;) { /* on purpose */ }
         ctx.call({ path: '/open-apis/im/v1/messages', query: { receive_id_type: 'chat_id' },
           body: { receive_id: event.event.message.chat_id, msg_type: 'text', content: event.event.message.content } });
       };`,
    );
    const { sandbox, target, records } = await house(`  - { on: im.*, handler: '${file}', timeoutMs: 300 }`);
    await sandbox.sendEvents({ target, events: 6, chats: 6 });

    await vi.waitFor(() => expect(sandbox.effects().effects).toBe(5), waiting);
    await vi.waitFor(async () => expect(await records('dead-letters')).toHaveLength(1), waiting);
    expect(history((await records('dead-letters'))[0]).message).toContain('took longer than 300 ms');
  });
});
