import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';

import type { DeadLetterHistory } from '../../../src/model/dead-letter.ts';
import { headerText } from '../../../src/model/record.ts';
import { messageEvent } from '../../../src/sandbox/events/bodies.ts';
import { type EventHouse, openEventHouse } from '../../support/event-house.ts';

const waiting = { timeout: 30_000, interval: 20 };
vi.setConfig({ testTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'larkspur-cases-'));
let house: EventHouse;
afterEach(() => house.close());
afterAll(() => rmSync(folder, { recursive: true }));

const card = {
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: 'oc_1', msg_type: 'interactive', content: '{"elements":[]}' },
};

describe('cases of the platform', () => {
  it('F6: a message that is delivered again while its handler is still at it is answered once', async () => {
    const [file, begun, gate] = ['slow.mjs', 'begun', 'gate'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(
      file,
      `import { existsSync, writeFileSync } from 'node:fs';
      export default async (event, ctx) => {
        writeFileSync('${begun}', '');
        while (!existsSync('${gate}')) await new Promise((soon) => setTimeout(soon, 10));
        const { chat_id: chat, content } = event.event.message;
        ctx.call({ path: '/open-apis/im/v1/messages', query: { receive_id_type: 'chat_id' }, body: { receive_id: chat, msg_type: 'text', content } });
      };`,
    );
    house = await openEventHouse(`  - { on: im.message.receive_v1, handler: '${file}' }`);
    const { body } = messageEvent(house.target, { n: 1, subject: 'oc_1', wallMs: Date.now(), salt: 's' });
    expect(await house.deliver(body)).toBe(200);
    await vi.waitFor(() => expect(existsSync(begun)).toBe(true), waiting);
    expect([await house.deliver(body), house.sandbox.effects().effects]).toEqual([200, 0]);
    writeFileSync(gate, '');

    await vi.waitFor(async () => expect(await house.records('results')).toHaveLength(1), waiting);
    expect([(await house.records('events')).length, house.sandbox.effects().effects]).toEqual([1, 1]);
  });

  it('F21: who asks whether the process is ready asks nothing of Feishu, also while that refuses all', async () => {
    house = await openEventHouse('  []');
    house.sandbox.setFaults([{ kind: '429', match: { path: '/**' } }]);
    for (let n = 0; n < 50; n++) expect((await fetch(`${house.served.adminUrl}/readyz`)).status).toBe(200);
    expect(house.sandbox.stats().arrivals).toBe(0);
  });

  it('F30: a card that the platform does not take is a dead letter at once, with the words of the platform', async () => {
    house = await openEventHouse('  []');
    const msg = 'Failed to create card content, ext=ErrCode: 11310; ErrMsg: element exceeds the limit';
    house.sandbox.setFaults([{ kind: 'code', code: 230_099, status: 400, msg, match: { path: '/open-apis/im/**' } }]);
    const answer = await fetch(`${house.served.ingressUrl}/v1/calls?wait=10s`, {
      method: 'POST',
      body: JSON.stringify(card),
    });
    expect(await answer.json()).toMatchObject({ code: 'no_answer', reason: 'permanent' });
    const [letter] = await house.records('dead-letters');
    const history = JSON.parse(headerText(letter?.headers ?? [], 'larkspur-history') ?? '{}') as DeadLetterHistory;
    expect(history.attempts).toHaveLength(1);
    expect(history.message).toContain(msg);
  });
});
