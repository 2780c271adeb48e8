import { describe, expect, it } from 'vitest';

import { bench } from './client.ts';

const messages = '/open-apis/im/v1/messages';
const text = (value: string) => JSON.stringify({ text: value });

describe('sandbox messages', () => {
  it('creates, answers in the shape of the platform, replies, edits and removes', async () => {
    const b = await bench();
    const created = await b.send('oc_1', 1);
    const id = String(created.json.data?.['message_id']);
    expect(created.json).toMatchObject({
      code: 0,
      msg: 'success',
      data: {
        message_id: expect.stringMatching(/^om_[0-9a-f]{32}$/) as string,
        chat_id: 'oc_1',
        msg_type: 'text',
        create_time: String(b.time.wall()),
        deleted: false,
        body: { content: text('hello n=1') },
      },
    });

    const body = { msg_type: 'text', content: text('answer n=2') };
    const reply = await b.call(`${messages}/${id}/reply`, { method: 'POST', body });
    expect(reply.json.data).toMatchObject({ root_id: id, parent_id: id, chat_id: 'oc_1' });

    const edit = await b.call(`${messages}/${id}`, { method: 'PATCH', body: { content: '{"n":1}' } });
    expect(edit.json.code).toBe(0);
    expect((await b.call(`${messages}/${id}`, { method: 'DELETE' })).json.code).toBe(0);
    expect((await b.call(`${messages}/${id}`, { method: 'DELETE' })).json.code).toBe(230011);
    expect((await b.call(`${messages}/${id}/reply`, { method: 'POST', body })).json.code).toBe(230011);
    expect((await b.call(`${messages}/om_unknown/reply`, { method: 'POST', body })).json.code).toBe(230001);
    expect(b.sandbox.effects().byApi).toEqual({
      'im.message.create': 1,
      'im.message.reply': 1,
      'im.message.patch': 1,
      'im.message.delete': 1,
    });
  });

  const good = { receive_id: 'oc_1', msg_type: 'text', content: text('hi') };
  it.each([
    ['no receive_id_type', '', good, 400, 99992402],
    ['an unknown receive_id_type', '?receive_id_type=phone', good, 400, 99992402],
    ['no receive_id', '?receive_id_type=chat_id', { ...good, receive_id: undefined }, 400, 99992402],
    ['no msg_type', '?receive_id_type=chat_id', { ...good, msg_type: undefined }, 400, 99992402],
    ['an unknown msg_type', '?receive_id_type=chat_id', { ...good, msg_type: 'smoke' }, 400, 230001],
    ['content that is no string', '?receive_id_type=chat_id', { ...good, content: { text: 'hi' } }, 400, 99992402],
    ['content that is no JSON', '?receive_id_type=chat_id', { ...good, content: 'hi' }, 400, 230001],
    [
      'a card that is no JSON',
      '?receive_id_type=chat_id',
      { ...good, msg_type: 'interactive', content: '{' },
      400,
      230099,
    ],
    ['too long a text', '?receive_id_type=chat_id', { ...good, content: text('x'.repeat(160_000)) }, 400, 230025],
    ['a uuid of 51 characters', '?receive_id_type=chat_id', { ...good, uuid: 'u'.repeat(51) }, 400, 99992402],
    ['a body that is no JSON', '?receive_id_type=chat_id', '{"receive_id":', 400, 9499],
  ])('refuses %s and has no effect', async (_, query, body, status, code) => {
    const b = await bench();

    const reply = await b.call(messages + query, { method: 'POST', body });

    expect(reply).toMatchObject({ status, json: { code } });
    expect(reply.json.error?.['log_id']).toBe(reply.headers['x-tt-logid']);
    expect(b.sandbox.effects().effects).toBe(0);
  });

  it('names the field that did not pass', async () => {
    const b = await bench();
    const reply = await b.call(`${messages}?receive_id_type=phone`, { method: 'POST', body: good });

    expect(reply.json.error?.['field_violations']).toMatchObject([{ field: 'receive_id_type', value: 'phone' }]);
  });
});
