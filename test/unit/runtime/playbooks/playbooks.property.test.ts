import fc from 'fast-check';
import { expect, it } from 'vitest';

import type { AuditEntry } from '../../../../src/model/audit.ts';
import { playbookOf, PlayWorld } from '../../../support/play-world.ts';

const isolate = playbookOf(`
name: isolate-news
when: { metric: value, above: 0.5, forMs: 3000, clear: 0.4, clearForMs: 5000 }
coolDownMs: 60000
then: [{ isolate: news }]
`);

// Ten minutes of a walk around the bounds, one value a second: it stays above and below for long enough to begin and to be over.
const walk = fc
  .array(fc.integer({ min: -40, max: 40 }), { minLength: 600, maxLength: 600, size: 'max' })
  .map((moves) => {
    let level = 450;
    return moves.map((move) => (level = Math.min(700, Math.max(300, level + move))) / 1_000);
  });

/** Whether begin and end take turns, with a minute of rest between them. */
function rests(audit: readonly AuditEntry[]): boolean {
  const turns = audit.map(({ at, to }) => ({ atMs: Date.parse(at), state: (to as { state: string }).state }));
  return turns.every(({ atMs, state }, index) => {
    if (state !== (index % 2 === 0 ? 'ran' : 'over')) return false;
    const before = turns[index - 1];
    return state === 'over' || before === undefined || atMs - before.atMs >= 60_000;
  });
}

const holds = (playbook: typeof isolate, tell: (turns: number) => void = () => undefined) =>
  fc.asyncProperty(walk, async (values) => {
    const world = new PlayWorld([playbook]);
    for (const value of values) await world.run(1, value);
    tell(world.audit.length);
    return rests(world.audit);
  });

it('playbooks do not flap in ten minutes with noise: begin and end take turns, with rest between them', async () => {
  let turns = 0;
  await fc.assert(
    holds(isolate, (more) => (turns += more)),
    { numRuns: 5 },
  );
  // Something went on that could have been wrong.
  expect(turns).toBeGreaterThanOrEqual(4);
});

it('the property catches one without rest', async () => {
  const { trigger } = isolate;
  const restless = { ...isolate, trigger: { ...trigger, coolDownMs: 0 } };
  expect((await fc.check(holds(restless), { seed: 7, numRuns: 20, endOnFailure: true })).failed).toBe(true);
});
