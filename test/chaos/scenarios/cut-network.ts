import { cut } from '../world/faults.ts';

import { hurting } from './hurt.ts';

/** S004-36: one of two workers loses Kafka, Redis and the upstream, one after the other: in silence, then with resets. */
export const cutNetwork = hurting({
  name: 'partition',
  own: true,
  mayDiffer: true,
  // Their calls may neither differ nor be guessed.
  plainEvery: 10,
  world: { proxied: true },
  faults: [
    cut('kafka', 'silence', 15_000),
    cut('kafka', 'break', 8_000),
    cut('redis', 'silence', 8_000),
    cut('redis', 'break', 8_000),
    cut('upstream', 'silence', 8_000),
    cut('upstream', 'break', 8_000),
  ],
});
