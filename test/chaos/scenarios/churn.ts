import { drainWorker, killWorker } from '../world/faults.ts';

import { hurting } from './hurt.ts';

/** P1, P9: four workers, of which one after the other goes and comes back, ten times, every second time by `kill -9`. */
export const churn = hurting({
  name: 'churn',
  workers: 4,
  faults: Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? killWorker(i % 4) : drainWorker(i % 4))),
});
