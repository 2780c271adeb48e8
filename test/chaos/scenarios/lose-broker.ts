import { freezeBroker, killBroker, restartBroker } from '../world/faults.ts';

import { hurting } from './hurt.ts';

/** The broker is restarted, killed, and frozen for longer than a member may be silent. */
export const loseBroker = hurting({
  name: 'broker',
  own: true,
  faults: [restartBroker, killBroker(2_000), freezeBroker(15_000)],
});
