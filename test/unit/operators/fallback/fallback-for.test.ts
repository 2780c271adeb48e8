import { describe, expect, it } from 'vitest';

import { fallbackDefaults, fallbackFor } from '../../../../src/operators/index.ts';

const cached = { status: 200, code: 0, contentType: 'application/json', body: Buffer.from('{}'), storedAtMs: 0 };
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
    expect(fallbackFor(wish, upstream, true, known)).toEqual(expected);
  });

  it.each([
    ["the upstream's answers", undefined, both, undefined],
    ["the upstream's answers, declared for writes", undefined, { ...both, writes: true }, fromCache],
    ['its own static answer', ownStatic, both, { source: 'default', body: { text: 'later' } }],
    ['its own wish for the cache', 'cached', both, fromCache],
    ['its own wish for none', false, { ...both, writes: true }, undefined],
  ] as const)('for a call that changes something: %s', (_, wish, upstream, expected) => {
    expect(fallbackFor(wish, upstream, false, cached)).toEqual(expected);
  });

  it('gives a read nothing that wants nothing', () => {
    expect(fallbackFor(false, both, true, cached)).toBeUndefined();
  });
});
