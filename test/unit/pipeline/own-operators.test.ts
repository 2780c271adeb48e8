import { expect, it } from 'vitest';

import { OwnOperators } from '../../../src/pipeline/own-operators.ts';
import type { AttemptView } from '../../../src/ports/own-operator.ts';
import { RememberingLogger } from '../../support/remembering-logger.ts';

const attempt: AttemptView = { id: 'c', upstream: 'orders', api: 'GET orders', method: 'GET', path: '/x', number: 1 };

function ownOperators(...operators: readonly object[]) {
  const log = new RememberingLogger();
  return { log, own: new OwnOperators(operators, log) };
}

it('what an after promises and does not keep is logged like what it throws, and ends nothing', async () => {
  const { log, own } = ownOperators(
    { after: () => Promise.reject(new Error('later')) },
    { after: () => Promise.resolve() },
  );
  own.judged(attempt, { class: 'success', kind: 'ok', message: '', askedMs: 0, errorType: '' }, 1);
  expect(log.lines).toEqual([]);
  await new Promise(setImmediate);
  expect(log.lines).toMatchObject([{ level: 'error', fields: { point: 'after', upstream: 'orders', error: 'later' } }]);
});

it('a before that promises its headers adds none and is logged as a failure, the others add theirs', async () => {
  const kept = ownOperators({ before: () => Promise.resolve({ 'x-a': 'late' }) }, { before: () => ({ 'X-B': 'b' }) });
  expect(kept.own.headers(attempt)).toEqual({ 'x-b': 'b' });
  const broken = ownOperators({ before: () => Promise.reject(new Error('later')) });
  expect(broken.own.headers(attempt)).toEqual({});
  await new Promise(setImmediate);
  for (const { log } of [kept, broken]) {
    expect(log.lines).toMatchObject([
      { level: 'error', fields: { point: 'before', failures: 1, error: expect.stringMatching(/promise/) as string } },
    ]);
  }
});
