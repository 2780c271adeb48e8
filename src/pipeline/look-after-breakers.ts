import type { BreakerRegistry } from '../operators/breaker/breaker-registry.ts';

import type { Destination } from './destination.ts';

/** Looks after the breakers of the destinations that it is shown. */
export type LookAfter = (destination: Destination) => void;

/**
 * Begins once for the breakers of a destination, however often it is shown. Where it has others by then, what was begun for
 * those before ends first: nobody asks them any more.
 * @param begin returns what ends it
 */
export function lookAfterBreakers(
  begin: (destination: Destination, breakers: BreakerRegistry) => () => void,
): LookAfter {
  const known = new Map<Destination, { readonly breakers: BreakerRegistry; readonly end: () => void }>();
  return (destination) => {
    const { breakers } = destination;
    const before = known.get(destination);
    if (before?.breakers === breakers) return;
    before?.end();
    if (breakers === undefined) known.delete(destination);
    else known.set(destination, { breakers, end: begin(destination, breakers) });
  };
}
