import { atLeast, atMost } from '../../../src/runtime/report.ts';
import { upstreamFault } from '../world/faults.ts';

import { hurting } from './hurt.ts';

const keyed = 30;
const plain = 20;
const rules = [
  { kind: 'reset-after', rate: 0.08, match: { path: '/open-apis/im/**', times: keyed } },
  { kind: 'reset-after', rate: 0.08, match: { path: '/echo/**', times: plain } },
];

/**
 * The upstream acts and then resets the connection: calls with a key of the platform are sent again under it, the others
 * are reported as of unknown outcome, each of them, and never sent again.
 */
export const resetUpstream = hurting({
  name: 'reset',
  plainEvery: 3,
  faults: [upstreamFault('reset after write', rules, 10_000)],
  more: async (world, { outcomes }) => {
    const { replays, faults } = await world.sandbox.stats();
    const resets = faults['reset-after'] ?? 0;
    return [
      atLeast('resets', resets, keyed + plain),
      atLeast('repeatedUnderTheirKey', replays, keyed),
      // Each of them acted and got no answer.
      atMost('guessed', Math.max(0, plain - outcomes.reportedUnknown), 0),
    ];
  },
});
