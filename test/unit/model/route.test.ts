import { describe, expect, it } from 'vitest';

import { isFor, withApp } from '../../../src/model/route.ts';

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

describe('a route', () => {
  it.each([
    ['im.message.receive_v1', 'im.message.receive_v1', true],
    ['im.message.receive_v1', 'im.message.receive_v10', false],
    ['im.*', 'im.message.receive_v1', true],
    ['im.*', 'imXmessage', false],
    ['*_v1', 'im.message.receive_v1', true],
    ['im.*.created*', 'im.chat.member.created_v1', true],
    ['im.*.created*', 'im.chat.deleted_v1', false],
    ['*', 'a\nb', true],
  ])('on %s is for an event %j: %s', (on, type, expected) => {
    expect(isFor({ on, app: undefined }, { type, app: 'cli_a' })).toBe(expected);
  });

  it('of another app is for no event, whatever its type', () => {
    expect(isFor({ on: '*', app: 'cli_b' }, { type: 'im.message.receive_v1', app: 'cli_a' })).toBe(false);
  });

  it('with many stars is decided without trying every way to place them', () => {
    const on = `${'*a'.repeat(30)}*b`;
    expect(isFor({ on, app: undefined }, { type: 'a'.repeat(100), app: 'cli_a' })).toBe(false);
    expect(isFor({ on, app: undefined }, { type: `${'a'.repeat(100)}b`, app: 'cli_a' })).toBe(true);
  });
});
