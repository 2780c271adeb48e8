import { describe, expect, it } from 'vitest';

import { apiCatalogue } from '../../../../src/adapters/feishu/catalogue/apis.ts';
import { keyOf } from '../../../../src/adapters/feishu/platform-key.ts';
import { feishuProfile } from '../../../../src/adapters/feishu/profile.ts';
import type { Call } from '../../../../src/model/call.ts';
import type { CallPlan } from '../../../../src/ports/profile.ts';

import { oneApp, planned, send } from './answers.ts';

const bodyOf = (call: Call, id?: string): unknown => JSON.parse(planned(call, id).request().body?.toString() ?? 'null');
const record: Call = { path: '/open-apis/bitable/v1/apps/app1/tables/tbl1/records', body: { fields: {} } };

describe('feishuProfile, request', () => {
  it('plans the least call: API, breaker, buckets, token, key', () => {
    expect(planned()).toMatchObject({
      api: 'POST /open-apis/im/v1/messages',
      breakerKey: 'open.feishu.cn/im',
      limits: [
        {
          key: 'feishu|cli_a|-|POST /open-apis/im/v1/messages',
          windows: [
            { limit: 50, windowMs: 1_000 },
            { limit: 1_000, windowMs: 60_000 },
          ],
        },
        { key: 'feishu|*|-|receiver|oc_1', windows: [{ limit: 5, windowMs: 1_000 }] },
        { key: 'feishu|*|-|month', windows: [] },
      ],
      repeat: { kind: 'keyed', windowMs: 2_880_000 },
      token: { app: 'cli_a', tenant: undefined, as: 'tenant' },
    });
    expect(planned().request()).toMatchObject({
      method: 'POST',
      path: '/open-apis/im/v1/messages?receive_id_type=chat_id',
      headers: { 'content-type': 'application/json; charset=utf-8' },
    });
    expect(bodyOf(send)).toEqual({ ...(send.body as object), uuid: keyOf('id-1', 'text') });
  });

  it('repeats list parameters, and writes everything in ASCII', () => {
    const call = { path: '/open-apis/contact/v3/users/batch', query: { user_ids: ['ou_1', 'ou 2'], name: '名\ud800' } };
    const { api, request } = planned(call);
    expect(api).toBe('GET /open-apis/contact/v3/users/batch');
    expect(request().path).toBe(
      '/open-apis/contact/v3/users/batch?user_ids=ou_1&user_ids=ou%202&name=%E5%90%8D%EF%BF%BD',
    );
  });

  it('puts the path behind the prefix of the base', () => {
    const options = { ...oneApp, baseUrl: 'http://127.0.0.1:9/mirror/' };
    expect(planned({ path: '/open-apis/im/v1/chats' }, 'x', options).request().path).toBe(
      '/mirror/open-apis/im/v1/chats',
    );
  });

  it('sends the same bytes on every attempt, also of an upload', () => {
    const upload: Call = {
      path: '/open-apis/im/v1/files',
      multipart: [
        { name: 'file_type', value: 'stream' },
        { name: 'file', base64: Buffer.from([0, 255, 13, 10]).toString('base64'), filename: 'a"b.bin' },
      ],
    };
    const { request, repeat } = planned(upload);
    expect(planned(upload).request()).toEqual(request());
    expect(repeat).toEqual({ kind: 'never' });
    expect(request().headers['content-type']).toMatch(/^multipart\/form-data; boundary=larkspur-[0-9a-f]{32}$/);
    expect(request().body?.toString('latin1')).toContain(
      'name="file"; filename="a%22b.bin"\r\nContent-Type: application/octet-stream\r\n\r\n\x00\xff\r\n\r\n--larkspur-',
    );
  });

  it('gives every unknown API one label per method, one breaker group and a careful limit', () => {
    const plan = planned({ path: '/open-apis/brand-new/v1/things', body: {} });
    expect(plan).toMatchObject({
      api: 'POST other',
      breakerKey: 'open.feishu.cn/other',
      limits: [
        { key: 'feishu|cli_a|-|POST other', windows: [{ limit: 5, windowMs: 1_000 }] },
        { key: 'feishu|*|-|month', windows: [] },
      ],
      repeat: { kind: 'never' },
      token: { as: 'tenant' },
    });
    expect(planned({ path: '/open-apis/brand-new/v1/things' }).repeat).toEqual({ kind: 'always' });
  });
});

describe('feishuProfile, groups of APIs', () => {
  const profile = feishuProfile({
    ...oneApp,
    groups: [
      { name: 'uploads', has: (path) => path.startsWith('/open-apis/im/v1/images') },
      { name: 'fast', has: (_, tier) => tier.some(({ limit, windowMs }) => limit === 50 && windowMs === 1_000) },
    ],
  });
  const groupOf = (call: Call): unknown => {
    const plan = profile.plan(call, 'id-1');
    return 'reason' in plan ? plan : [plan.group, plan.breakerKey];
  };

  it('are found by path or by the documented tier, the first that fits, and have a breaker of their own', () => {
    expect(groupOf(send)).toEqual(['fast', 'open.feishu.cn/group/fast']);
    expect(groupOf({ path: '/open-apis/im/v1/images', body: {} })).toEqual(['uploads', 'open.feishu.cn/group/uploads']);
    expect(groupOf({ path: '/open-apis/nobody/v9/knows', body: {} })).toEqual([undefined, 'open.feishu.cn/other']);
  });

  it('change neither quota nor key of a call', () => {
    const within = profile.plan(send, 'id-1') as CallPlan;
    const without = planned(send, 'id-1');
    expect(within).toMatchObject({ limits: without.limits, repeat: without.repeat });
    expect(within.request()).toEqual(without.request());
  });
});

describe('feishuProfile, app and token', () => {
  const two = feishuProfile({ apps: [{ id: 'cli_a' }, { id: 'cli_b', tenant: 'tk' }], baseUrl: 'https://x.cn' });

  it('names the known apps when a call names none or another', () => {
    const unroutable = { reason: 'unroutable', at: '/app' };
    expect(two.plan(send, 'x')).toMatchObject({
      ...unroutable,
      message: expect.stringContaining('cli_a, cli_b') as string,
    });
    expect(two.plan({ ...send, app: 'cli_c' }, 'x')).toMatchObject({
      ...unroutable,
      message: 'unknown app cli_c; known apps: cli_a, cli_b',
    });
    expect(two.plan({ ...send, app: 'cli_b' }, 'x')).toMatchObject({ token: { app: 'cli_b', tenant: 'tk' } });
  });

  it('takes the default app, and refuses when there is none at all', () => {
    const options = { apps: [{ id: 'cli_a' }, { id: 'cli_b' }], defaultApp: 'cli_b', baseUrl: 'https://x.cn' };
    expect(feishuProfile(options).plan(send, 'x')).toMatchObject({ token: { app: 'cli_b' } });
    const none = feishuProfile({ apps: [], baseUrl: 'https://x.cn' });
    expect(none.plan(send, 'x')).toMatchObject({ message: expect.stringContaining('no app is configured') as string });
  });

  it('needs neither app nor token for a custom bot, and keeps its secret path out of keys and labels', () => {
    const none = feishuProfile({ apps: [], baseUrl: 'https://open.feishu.cn' });
    const plan = none.plan({ path: '/open-apis/bot/v2/hook/s3cret-hook', body: { msg_type: 'text' } }, 'x');
    expect(plan).toMatchObject({
      token: undefined,
      repeat: { kind: 'never' },
      api: 'POST /open-apis/bot/v2/hook/:hook_token',
    });
    expect(JSON.stringify({ ...plan, request: undefined })).not.toContain('s3cret');
  });

  it('asks for a user where only users may call, and takes what the call says elsewhere', () => {
    const search: Call = { path: '/open-apis/search/v1/user' };
    expect(apiCatalogue().byLabel('GET /open-apis/search/v1/user')?.tokens).toEqual(['user']);
    expect(feishuProfile(oneApp).plan(search, 'x')).toMatchObject({ reason: 'invalid_call', at: '/as' });
    expect(planned({ ...search, as: { user: 'ou_1' } }).token).toMatchObject({ as: { user: 'ou_1' } });
    expect(planned({ ...send, as: 'app' }).token).toMatchObject({ as: 'app' });
  });
});

describe('feishuProfile, limits', () => {
  const keys = (call: Call) => planned(call).limits.map(({ key }) => key);

  it('counts a receiver over all apps of a tenant, and two tenants apart', () => {
    expect(keys({ ...send, tenant: 'tk' })).toContain('feishu|*|tk|receiver|oc_1');
    expect(keys(send)).toContain('feishu|*|-|receiver|oc_1');
  });

  it('counts edits of one message, and a document, by their place in the path', () => {
    expect(keys({ path: '/open-apis/im/v1/messages/om_1', method: 'PATCH', body: {} })).toContain(
      'feishu|*|-|message|om_1',
    );
    const blocks = { path: '/open-apis/docx/v1/documents/doc1/blocks/b1/children', body: {} };
    expect(keys(blocks)).toContain('feishu|*|-|document|doc1');
  });

  it('counts a further limit only when the body has the member that it is about', () => {
    const user = { path: '/open-apis/contact/v3/users/ou_1', method: 'PATCH' as const };
    expect(keys({ ...user, body: { name: 'a' } })).toHaveLength(2);
    expect(keys({ ...user, body: { is_frozen: false } })).toHaveLength(3);
  });

  it('adds the daily limit to the windows of the API and lets the configuration replace its tier', () => {
    const move: Call = { path: '/open-apis/drive/v1/files/f1/move', body: {} };
    const day = { limit: 10_000, windowMs: 86_400_000 };
    expect(planned(move).limits[0]?.windows).toContainEqual(day);
    const limits = { 'POST /open-apis/drive/v1/files/:file_token/move': [{ limit: 2, windowMs: 1_000 }] };
    expect(planned(move, 'x', { ...oneApp, limits }).limits[0]?.windows).toEqual([{ limit: 2, windowMs: 1_000 }, day]);
  });

  it('puts all buckets of a call in one group, those of two tenants in two', () => {
    const groups = (call: Call) => new Set(planned(call).limits.map(({ group }) => group));
    expect(groups(send)).toEqual(new Set(['feishu|-']));
    expect(groups({ ...send, tenant: 'tk' })).toEqual(new Set(['feishu|tk']));
  });

  it('names buckets for metrics by the API or by what they count, never by an id', () => {
    expect(planned().limits.map(({ label }) => label)).toEqual([
      'POST /open-apis/im/v1/messages',
      'receiver',
      undefined,
    ]);
  });

  it('names the resource that takes one call at a time', () => {
    expect(planned(record).serial).toBe('feishu|*|-|table|tbl1|serial');
    expect(planned({ path: '/open-apis/docx/v1/documents', body: { folder_token: 'fld1' } }).serial).toContain(
      'folder|fld1',
    );
    expect(planned().serial).toBeUndefined();
  });
});
