import { describe, expect, it } from 'vitest';

import { fallbackDefaults, fallbackFor } from '../../../../src/operators/index.ts';

const cached = { status: 200, code: 0, contentType: 'application/json', body: Buffer.from('{}') };
const fromCache = { source: 'cache', answer: cached };
const remembers = { ...fallbackDefaults, cacheTtlMs: 300_000 };
const fixed = { ...fallbackDefaults, default: { body: { items: [] } } };
const both = { ...remembers, default: fixed.default };
const ownStatic = { default: { text: 'later' } };

describe('fallbackFor', () => {
  it.each([
    ['nothing declared', undefined, fallbackDefaults, undefined, undefined],
    ['an answer that nobody wanted remembered', undefined, fallbackDefaults, cached, undefined],
    ['an upstream that remembers', undefined, remembers, cached, fromCache],
    ['an upstream that has nothing to remember', undefined, remembers, undefined, undefined],
    ['an upstream with a static answer', undefined, fixed, undefined, { source: 'default', body: { items: [] } }],
    ['both: the remembered one is better', undefined, both, cached, fromCache],
    ['both, nothing remembered', undefined, both, undefined, { source: 'default', body: { items: [] } }],
    [
      "the call's own static answer before all",
      ownStatic,
      both,
      cached,
      { source: 'default', body: { text: 'later' } },
    ],
    ['the call asks for the cache', 'cached', fallbackDefaults, cached, fromCache],
    ['the call asks for an empty cache', 'cached', fixed, undefined, { source: 'default', body: { items: [] } }],
    ['the call asks for an empty cache, no static answer', 'cached', fallbackDefaults, undefined, undefined],
    ['switched off, whatever the call wants', ownStatic, { ...both, off: true }, cached, undefined],
    [
      'a static answer that is null',
      undefined,
      { ...fixed, default: { body: null } },
      undefined,
      { source: 'default', body: null },
    ],
  ] as const)('%s', (_, wish, upstream, known, expected) => {
    expect(fallbackFor(wish, upstream, known)).toEqual(expected);
  });
});
