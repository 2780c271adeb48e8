import { atLeast } from '../../../src/runtime/report.ts';
import type { Scenario } from '../scenario.ts';
import { type Fault, freezeWorker, isolate } from '../world/faults.ts';
import { sum } from '../world/group.ts';

import { hurting } from './hurt.ts';

const zombie = (name: string, faults: readonly Fault[]): Scenario =>
  hurting({
    name,
    faults,
    own: true,
    mayDiffer: true,
    // While claims are out of reach calls with a key go on; what the others bring afterwards must be refused.
    plainEvery: 2,
    mostKeys: 60,
    mostCalls: 4_000,
    // Longer calls than the second in which a quota is given out: some are in flight whenever it happens.
    world: { proxied: true, latencyMs: 1_500, attemptMs: 3_000 },
    more: async (world, { figures, outcomes }) => {
      const refused = await Promise.all(world.running.map((worker) => worker.metric('larkspur_superseded_total')));
      return [
        atLeast('refusedFinishes', sum(refused.flat()), 1),
        // The other worker took calls over that were in flight: sent again under their key, or reported as unknown.
        atLeast('takenOver', figures.sentAgain + outcomes.reportedUnknown, 1),
      ];
    },
  });

/**
 * A worker stands still with calls in flight for longer than the group and its claims wait, and goes on; later it reaches
 * neither group nor claims for as long, while its calls are answered. What it brings afterwards is refused, and nothing is
 * done twice.
 */
export const zombieWorker = zombie('zombie', [freezeWorker(0, 15_000), isolate(15_000)]);

/** Only the second half of it. */
export const isolatedWorker = zombie('isolated', [isolate(15_000)]);
