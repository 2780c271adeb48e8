import { describe, expect, it } from 'vitest';

import { apiCatalogue, serviceOf } from '../../../../src/adapters/feishu/catalogue/apis.ts';
import { codeCatalogue, ruleOf } from '../../../../src/adapters/feishu/catalogue/codes.ts';
import { PathTrie } from '../../../../src/adapters/feishu/catalogue/path-trie.ts';

const second = (limit: number) => ({ limit, windowMs: 1_000 });
const minute = (limit: number) => ({ limit, windowMs: 60_000 });

describe('the API catalogue', () => {
  it('holds every documented API once and finds each by its own pattern', () => {
    const catalogue = apiCatalogue();
    expect(catalogue.size).toBe(1_802);
    for (const api of catalogue.all) {
      const [method = '', pattern = ''] = api.label.split(' ');
      const path = pattern.replace(/:[^/]+/g, 'x~1');
      expect(catalogue.find(method, path)?.value.label).toBe(api.label);
    }
  });

  it('tells all of them each time somebody asks', () => {
    const catalogue = apiCatalogue();
    expect([[...catalogue.all].length, [...catalogue.all].length]).toEqual([1_802, 1_802]);
  });

  it('knows tiers, tokens, keys and further limits', () => {
    const catalogue = apiCatalogue();
    expect(catalogue.byLabel('POST /open-apis/im/v1/messages')).toMatchObject({
      service: 'im',
      tier: [second(50), minute(1000)],
      tokens: ['tenant', 'user'],
      repeat: 'key',
      key: { place: 'body', name: 'uuid', windowMs: 3_600_000, form: 'text' },
      download: false,
    });
    expect(catalogue.byLabel('POST /open-apis/bitable/v1/apps/:app_token/tables/:table_id/records')).toMatchObject({
      tier: [second(50)],
      serial: 'table',
      key: { place: 'query', name: 'client_token', form: 'uuid4', windowMs: undefined },
    });
    expect(catalogue.byLabel('POST /open-apis/task/v2/tasks')).toMatchObject({
      tier: [second(10)],
      key: { windowMs: 300_000 },
    });
    expect(catalogue.byLabel('POST /open-apis/im/v1/chats')).toMatchObject({
      key: { place: 'query', windowMs: 36_000_000 },
    });
    expect(catalogue.byLabel('POST /open-apis/drive/v1/files/:file_token/move')?.further).toEqual([
      { scope: 'api', window: { limit: 10_000, windowMs: 86_400_000 }, onlyWith: [] },
    ]);
    expect(catalogue.byLabel('POST /open-apis/bot/v2/hook/:hook_token')).toMatchObject({
      tierPer: 'bot',
      tokens: ['none'],
    });
  });

  it('is read once per process', () => {
    expect(apiCatalogue()).toBe(apiCatalogue());
  });

  it.each([
    ['/open-apis/im/v1/messages', 'im'],
    ['/proxy/a/open-apis/bitable/v1/apps?x=/open-apis/im', 'bitable'],
    ['/oauth/v3/token', 'oauth'],
    ['/', ''],
  ])('reads the service of %s as "%s"', (path, service) => {
    expect(serviceOf(path)).toBe(service);
  });
});

describe('PathTrie', () => {
  const trie = new PathTrie<string>();
  trie.add('GET', '/users/batch', 'batch');
  trie.add('GET', '/users/:user_id', 'one');
  trie.add('DELETE', '/users/:user_id', 'delete');
  trie.add('GET', '/users/:user_id/files/:file', 'file');
  trie.add('GET', '/users/batch/files/all', 'all');

  it('prefers a literal segment to a parameter', () => {
    expect(trie.find('GET', '/users/batch')).toEqual({ value: 'batch', params: {} });
    expect(trie.find('GET', '/users/7')).toEqual({ value: 'one', params: { user_id: '7' } });
  });

  it('turns back to the parameter where the literal leads nowhere for this method', () => {
    expect(trie.find('DELETE', '/users/batch')).toEqual({ value: 'delete', params: { user_id: 'batch' } });
    expect(trie.find('GET', '/users/batch/files/x')).toEqual({
      value: 'file',
      params: { user_id: 'batch', file: 'x' },
    });
  });

  it.each([
    ['POST', '/users/7'],
    ['GET', '/users'],
    ['GET', '/users/'],
    ['GET', '/users/7/'],
    ['GET', 'users/7'],
  ])('finds nothing for %s %s', (method, path) => {
    expect(trie.find(method, path)).toBeUndefined();
  });
});

describe('the code catalogue', () => {
  it('holds 2,803 codes, each with a class', () => {
    expect(codeCatalogue().size).toBe(2_803);
    for (const entry of codeCatalogue().values()) expect(entry.class).toBeTruthy();
  });

  it('takes codes of the long connection for nothing in other services', () => {
    const seen = { status: 200, text: '' };
    expect(ruleOf(codeCatalogue(), 514, { ...seen, service: 'im' })).toBeUndefined();
    expect(ruleOf(codeCatalogue(), 514, { ...seen, service: 'ws' })).toMatchObject({ class: 'auth' });
  });
});
