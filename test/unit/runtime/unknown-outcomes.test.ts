import { describe, expect, it, onTestFinished } from 'vitest';

import type { Call } from '../../../src/model/call.ts';
import { openLiveHouse } from '../../support/live-house.ts';

const fast = { breaker: 'off', retry: { baseMs: 5, floorMs: 1, jitter: 'equal' } } as const;

async function opened() {
  const house = await openLiveHouse({
    raw: (url) => ({ upstreams: { feishu: fast, plain: { ...fast, baseUrl: `${url}/echo` } } }),
  });
  onTestFinished(() => house.close());
  return house;
}

const text = (n: number): string => JSON.stringify({ text: `n=${n}` });
const messages = '/open-apis/im/v1/messages';

describe('an answer that is cut off after the effect, over real HTTP', () => {
  it.each<readonly [string, Call]>([
    [
      'a message',
      {
        path: messages,
        query: { receive_id_type: 'chat_id' },
        body: { receive_id: 'oc_1', msg_type: 'text', content: text(1) },
      },
    ],
    ['a record of a table', { path: '/open-apis/bitable/v1/apps/a/tables/t/records', body: { fields: { n: 1 } } }],
  ])('%s is sent again with its key and takes effect once', async (_what, call) => {
    const house = await opened();
    house.sandbox.setFaults([{ kind: 'reset-after', match: { times: 2 } }]);
    await house.produce([[{ id: 'c', ...call }, null]]);
    await house.ended(1);
    const [result] = await house.results();
    expect(result).toMatchObject({ id: 'c', status: 'ok', source: 'live' });
    expect(result?.attempts.map((attempt) => attempt.class)).toEqual(['ambiguous', 'ambiguous', 'success']);
    expect(house.sandbox.effects().effects).toBe(1);
    expect(house.sandbox.stats().replays).toBe(2);
  });

  it('F25: a reply too', async () => {
    const house = await opened();
    const body = { receive_id: 'oc_1', msg_type: 'text', content: text(0) };
    await house.produce([[{ path: messages, query: { receive_id_type: 'chat_id' }, body }, null]]);
    await house.ended(1);
    const [sent] = await house.results();
    const { data } = sent?.response?.body as { data: { message_id: string } };
    house.sandbox.setFaults([{ kind: 'reset-after', match: { times: 1 } }]);
    await house.produce([
      [{ id: 'r', path: `${messages}/${data.message_id}/reply`, body: { msg_type: 'text', content: text(1) } }, null],
    ]);
    await house.ended(2);
    expect((await house.results()).map(({ status }) => status)).toEqual(['ok', 'ok']);
    expect(house.sandbox.effects().effects).toBe(2);
  });

  it.each<readonly [string, Call]>([
    ['a plain POST', { upstream: 'plain', path: '/orders', body: { n: 1 } }],
    [
      'an upload',
      {
        path: '/open-apis/im/v1/files',
        multipart: [
          { name: 'file_type', value: 'stream' },
          { name: 'file_name', value: 'n=1' },
          { name: 'file', base64: 'YWJj', filename: 'a.bin' },
        ],
      },
    ],
  ])('%s is never sent again: it ends as outcome_unknown with what is known', async (_what, call) => {
    const house = await opened();
    house.sandbox.setFaults([{ kind: 'reset-after', match: { times: 1 } }]);
    await house.produce([[{ id: 'c', ...call }, null]]);
    await house.ended(1);
    expect(await house.deadLetters()).toMatchObject([
      {
        reason: 'outcome_unknown',
        attempts: [{ class: 'ambiguous' }],
        unknown: { attempts: 1, keyed: false },
      },
    ]);
    expect(house.sandbox.effects().effects).toBe(1);
  });

  it('a plain PUT is sent again, as HTTP allows', async () => {
    const house = await opened();
    house.sandbox.setFaults([{ kind: 'reset-after', match: { times: 1 } }]);
    await house.produce([[{ id: 'c', upstream: 'plain', method: 'PUT', path: '/orders/1', body: { n: 1 } }, null]]);
    await house.ended(1);
    expect(await house.results()).toMatchObject([{ id: 'c', status: 'ok' }]);
  });

  it('a refusal after it does not make the outcome known', async () => {
    const house = await opened();
    house.sandbox.setFaults([
      { kind: 'reset-after', match: { times: 1 } },
      { kind: 'code', code: 230_002, status: 400, match: { times: 1 } },
    ]);
    const body = { receive_id: 'oc_1', msg_type: 'text', content: text(1) };
    await house.produce([[{ id: 'c', path: messages, query: { receive_id_type: 'chat_id' }, body }, null]]);
    await house.ended(1);
    expect(await house.deadLetters()).toMatchObject([
      {
        reason: 'outcome_unknown',
        attempts: [{ class: 'ambiguous' }, { class: 'permanent' }],
        unknown: { keyed: true },
      },
    ]);
    expect(house.sandbox.effects().effects).toBe(1);
  });
});
