import { afterAll, describe, expect, it } from 'vitest';

import { knownCalls } from '../../../src/runtime/profiles.ts';
import { ConfigFiles } from '../../support/config-file.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

const known = knownCalls(
  files.load(`
apps: [{ id: cli_a, secret: s }]
upstreams: { news: { baseUrl: 'http://127.0.0.1:1' } }`).config,
);

describe('knownCalls', () => {
  it('lets pass what a worker of the same configuration can make', () => {
    expect(known.refusalOf({ path: '/open-apis/contact/v3/users/ou_1' }, 'id')).toBeUndefined();
    expect(known.refusalOf({ path: '/headlines', upstream: 'news' }, 'id')).toBeUndefined();
  });

  it('names the upstreams there are for one that is not configured', () => {
    expect(known.refusalOf({ path: '/x', upstream: 'nope' }, 'id')).toEqual({
      at: '/upstream',
      message: 'is not configured; known: feishu, news',
    });
  });

  it('names the apps there are for one that is not configured', () => {
    expect(known.refusalOf({ path: '/open-apis/contact/v3/users/ou_1', app: 'cli_b' }, 'id')).toEqual({
      at: '/app',
      message: 'unknown app cli_b; known apps: cli_a',
    });
  });
});
