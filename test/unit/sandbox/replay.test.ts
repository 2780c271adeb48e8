import { describe, expect, it, vi } from 'vitest';

import { bench } from './client.ts';

const records = '/open-apis/bitable/v1/apps/base1/tables/tbl1/records';

describe('sandbox replay', () => {
  it('answers a repeated uuid with the first message for one hour, as one effect, then acts again', async () => {
    const b = await bench();
    const first = await b.send('oc_1', 1, { uuid: 'key-1' });
    b.time.advance(3_599_999);
    await b.signIn();
    const again = await b.send('oc_1', 1, { uuid: 'key-1' });
    expect(again.json.data).toEqual(first.json.data);
    expect(b.sandbox.effects().effects).toBe(1);
    expect(b.sandbox.stats().replays).toBe(1);

    b.time.advance(1);
    const late = await b.send('oc_1', 1, { uuid: 'key-1' });
    expect(late.json.data?.['message_id']).not.toBe(first.json.data?.['message_id']);
    expect(b.sandbox.verdict({ calls: 1 })).toMatchObject({ effects: 2, twice: 1 });
  });

  it('knows a uuid per app', async () => {
    const b = await bench();
    await b.send('oc_1', 1, { uuid: 'key-1' });
    await b.signIn('cli_a2', 'other');
    await b.send('oc_1', 2, { uuid: 'key-1' });

    expect(b.sandbox.effects().effects).toBe(2);
  });

  it('answers a uuid that is still being worked on as in flight', async () => {
    const b = await bench({ settings: { latencyMs: 500 } });
    const first = b.send('oc_1', 1, { uuid: 'key-1' });
    await vi.waitFor(() => expect(b.time.pending).toBe(1));

    expect(await b.send('oc_1', 1, { uuid: 'key-1' })).toMatchObject({ status: 400, json: { code: 230049 } });
    b.time.advance(500);
    expect((await first).json.code).toBe(0);
    expect((await b.send('oc_1', 1, { uuid: 'key-1' })).json.data).toEqual((await first).json.data);
    expect(b.sandbox.effects().effects).toBe(1);
  });

  it('creates one record per client_token, and refuses one that is no UUID v4', async () => {
    const b = await bench();
    const create = (token: string) =>
      b.call(`${records}?client_token=${token}`, { method: 'POST', body: { fields: { Title: 'a', n: 1 } } });
    const first = await create('fe599b60-450f-46ff-b2ef-9f6675625b97');

    expect(first.json.data).toMatchObject({ record: { record_id: expect.stringMatching(/^rec/) as string } });
    expect((await create('fe599b60-450f-46ff-b2ef-9f6675625b97')).json).toEqual(first.json);
    expect(await create('fe599b60-450f-16ff-b2ef-9f6675625b97')).toMatchObject({
      status: 400,
      json: { code: 1254037 },
    });
    expect(b.sandbox.effects()).toMatchObject({ effects: 1, keys: 1, last: [{ key: 'tbl1', n: 1 }] });
  });
});
