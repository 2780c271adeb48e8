import { expect, it } from 'vitest';

import { playbookOf, PlayWorld } from '../../../support/play-world.ts';

const shake = playbookOf(`
name: shake
when: { metric: value, above: 0 }
coolDownMs: 60000
then: [{ disturb: { rules: [{ kind: '503' }], forMs: 60000 }, dryRun: false }]
`);

it('a step that is under way when another worker asks for it is not taken again once it is long over', async () => {
  let taken = 0;
  const world: PlayWorld = new PlayWorld(
    [shake],
    {
      disturb: async () => {
        taken++;
        await new Promise<void>((done) => world.time.after(3_000, done));
        return () => Promise.resolve();
      },
    },
    3,
  );
  await world.run(600, 1);
  expect(taken).toBe(1);
});
