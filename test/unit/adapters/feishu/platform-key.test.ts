import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { apiCatalogue } from '../../../../src/adapters/feishu/catalogue/apis.ts';
import { keyOf } from '../../../../src/adapters/feishu/platform-key.ts';
import type { Call } from '../../../../src/model/call.ts';

import { planned, send } from './answers.ts';

const tsv = new URL('../../../../src/adapters/feishu/catalogue/apis.tsv', import.meta.url);
const bodyOf = (call: Call, id?: string): unknown => JSON.parse(planned(call, id).request().body?.toString() ?? 'null');
const record: Call = { path: '/open-apis/bitable/v1/apps/app1/tables/tbl1/records', body: { fields: {} } };
const uuid4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('feishuProfile, idempotency key', () => {
  it('F23, F24: is the same for the same id whatever the attempt, and another for another id', () => {
    expect(bodyOf(send)).toEqual(bodyOf(send));
    expect(bodyOf(send, 'id-2')).not.toEqual(bodyOf(send, 'id-1'));
  });

  it('is a version 4 UUID in the query where the platform wants one', () => {
    const { request, repeat } = planned(record);
    const key = new URL(request().path, 'http://x').searchParams.get('client_token');
    expect(key).toMatch(uuid4);
    expect(key).toBe(keyOf('id-1', 'uuid4'));
    expect(repeat).toEqual({ kind: 'keyed', windowMs: 240_000 });
  });

  it("keeps a caller's own key", () => {
    expect(bodyOf({ ...send, body: { receive_id: 'oc_1', uuid: 'mine' } })).toMatchObject({ uuid: 'mine' });
    const { request } = planned({ ...record, query: { client_token: 'mine' } });
    expect(request().path).toContain('client_token=mine');
  });

  it('never makes up the id of a record, and honours it when given', () => {
    const offer: Call = { path: '/open-apis/hire/v1/external_offers', body: { external_application_id: '1' } };
    expect(planned(offer).repeat).toEqual({ kind: 'never' });
    expect(bodyOf(offer)).toEqual(offer.body);
    expect(planned({ ...offer, body: { external_id: 'e1' } }).repeat).toMatchObject({ kind: 'keyed' });
  });

  it('finds no place in a body that is no object', () => {
    expect(planned({ ...send, body: ['x'] }).repeat).toEqual({ kind: 'never' });
    expect(planned({ ...send, body: 'x' }).repeat).toEqual({ kind: 'never' });
  });

  it('fits the length and the characters of every key in the catalogue, and is another for every id', () => {
    const [, ...lines] = readFileSync(tsv, 'utf8').trimEnd().split('\n');
    let checked = 0;
    for (const line of lines) {
      const [, path = '', , , , , , key = '', notes = ''] = line.split('\t');
      if (key === '' || notes.includes('business-id')) continue;
      const [, , length = ''] = key.split(':');
      const form = notes.includes('uuid4') ? 'uuid4' : 'text';
      const [least, most] = length.includes('-') ? length.split('-').map(Number) : [1, Number(length || Infinity)];
      const made = Array.from({ length: 50 }, (_, i) => keyOf(`c1/calls/3/${i}/1764460800000`, form));
      for (const one of made) {
        expect([path, one.length >= (least ?? 1) && one.length <= (most ?? 0)]).toEqual([path, true]);
        expect(one).toMatch(/^[\w-]+$/);
      }
      expect(new Set(made).size).toBe(made.length);
      checked++;
    }
    expect(checked).toBeGreaterThan(90);
  });

  it('F26: stops at 80 % of the stated window, for every API', () => {
    const windows = new Map<string, number>();
    for (const api of apiCatalogue().all) {
      if (api.repeat !== 'key' || api.key === undefined || api.key.form === 'business') continue;
      const [method, path = ''] = api.label.split(' ');
      const call = { method, path: path.replace(/:/g, ''), body: {}, as: 'tenant' } as Call;
      const { repeat } = planned(call);
      expect([api.label, repeat.kind]).toEqual([api.label, 'keyed']);
      if (repeat.kind === 'keyed') windows.set(api.label, repeat.windowMs);
    }
    expect(windows.get('POST /open-apis/im/v1/chats')).toBe(28_800_000);
    expect(windows.get('POST /open-apis/task/v2/tasks')).toBe(240_000);
    expect(windows.size).toBeGreaterThan(60);
  });

  it.each([
    ['GET', '/open-apis/im/v1/chats', 'always'],
    ['PUT', '/open-apis/im/v1/messages/om_1', 'always'],
    ['DELETE', '/open-apis/im/v1/messages/om_1', 'always'],
    ['PATCH', '/open-apis/im/v1/messages/om_1', 'always'],
    ['POST', '/open-apis/im/v1/messages/reactions/batch_query', 'always'],
    ['POST', '/open-apis/im/v1/chats/oc_1/members', 'never'],
    ['POST', '/open-apis/im/v1/images', 'never'],
    ['PATCH', '/open-apis/im/v1/messages/om_1/urgent_sms', 'never'],
    ['POST', '/open-apis/mail/v1/user_mailboxes/u/messages/m/trash', 'never'],
  ] as const)('%s %s is repeated: %s', (method, path, repeat) => {
    const body = method === 'GET' ? {} : { body: {} };
    expect(planned({ method, path, ...body }).repeat.kind).toBe(repeat);
  });

  it('fits every documented length: 35 characters, or a UUID', () => {
    expect(keyOf('a'.repeat(200), 'text')).toMatch(/^lk-[0-9a-f]{32}$/);
    for (let i = 0; i < 50; i++) expect(keyOf(`id-${i}`, 'uuid4')).toMatch(uuid4);
  });
});
