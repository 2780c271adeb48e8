import { describe, expect, it } from 'vitest';

import { withApp } from '../../../src/model/route.ts';

describe('a call that a route makes', () => {
  it.each([
    ['of Feishu by default', { path: '/' }, { path: '/', app: 'cli_a' }],
    ['of Feishu by name', { upstream: 'feishu' }, { upstream: 'feishu', app: 'cli_a' }],
    ['of another app', { app: 'cli_b' }, { app: 'cli_b' }],
    ['of another upstream', { upstream: 'news' }, { upstream: 'news' }],
    ['that is none', 7, 7],
  ])('%s goes out as the app of its event only where that is meant', (_, call, expected) => {
    expect(withApp(call, 'cli_a')).toEqual(expected);
  });
});
