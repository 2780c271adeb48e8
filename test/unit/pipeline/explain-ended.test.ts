import { expect, it } from 'vitest';

import type { Result } from '../../../src/model/result.ts';
import { explainResult } from '../../../src/pipeline/explain/explain-ended.ts';

const result: Result = {
  ...{ id: 'c-1', origin: 'cluster/calls/0/7/1767225600000', upstream: 'news', attempts: [] },
  ...{ status: 'ok', source: 'live', timing: { queuedMs: 1, limitedMs: 0, inFlightMs: 9, totalMs: 10 } },
};

it.each<[string, Partial<Result>, string]>([
  ['an answer', {}, 'news answered'],
  [
    'an answer out of the read cache',
    { source: 'cache', ageMs: 1_200 },
    'an answer that news had given 1200 ms before was remembered, so it was not called',
  ],
  ['a stand-in', { status: 'fallback', source: 'default' }, 'there was no live answer, so the default one stands in'],
  ['a duplicate', { status: 'duplicate' }, 'a call of the same id was done before, and this is its answer'],
  ['a cancellation', { status: 'cancelled', source: 'default' }, 'it was cancelled before it had any effect at news'],
])('a call that ended with %s is explained as such', (_what, more, why) => {
  expect(explainResult('c-1', { ...result, ...more }).ended).toMatchObject({ as: 'result', why });
});
