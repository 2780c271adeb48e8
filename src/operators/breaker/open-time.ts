import type { Random } from '../../ports/random.ts';

import type { BreakerOptions } from './options.ts';

/** How long the n-th opening of an episode lasts, milliseconds: it doubles, and a share by chance spreads the replicas. */
export function openMs({ coolDownMs, maxOpenMs, openJitter }: BreakerOptions, opens: number, random: Random): number {
  // The exponent is clamped before it is used: 2 ** 1024 is Infinity.
  const ms = Math.min(maxOpenMs, coolDownMs * 2 ** Math.min(opens - 1, 30));
  return ms * (1 + openJitter * random.next());
}
