import { expect, it } from 'vitest';

import { runText } from '../../../src/cli/dead-letters-text.ts';

const run = { run: 'after-the-outage', kind: 'redrive', counts: {}, left: 0 } as const;

it('a run on one line says what it did; one that has ended without doing anything is not told to wait', () => {
  expect([
    runText({ ...run, state: 'running', left: 3 }),
    runText({ ...run, state: 'finished', counts: { sent: 1_200, tooLate: 2 } }),
    runText({ ...run, state: 'finished' }),
  ]).toEqual([
    'redrive after-the-outage running: nothing yet; 3 to look at',
    'redrive after-the-outage finished: 1,200 sent, 2 passed over (deadline passed)',
    'redrive after-the-outage finished: nothing was left to do',
  ]);
});
