import { defer, map, type Observable, of } from 'rxjs';

import type { BreakerDesk, BreakerOrder, BreakerOrdered } from '../adapters/http/breaker-routes.ts';
import type { Destination } from '../pipeline/destination.ts';
import type { House } from '../pipeline/house.ts';
import { breakerRoom } from '../pipeline/rooms.ts';

import type { Audit } from './audit.ts';
import type { WorldParts } from './stores.ts';

/**
 * Shows the breakers of this process and lets a person hold them open or closed. Acts before it writes the record on
 * `audit`: who isolates a sick upstream need not wait for Kafka.
 * @param houseOf `undefined` while there is no worker in this process
 */
export function breakerDesk(
  houseOf: () => House | undefined,
  audit: Pick<Audit, 'written'>,
  { clock, log }: Pick<WorldParts, 'clock' | 'log'>,
): BreakerDesk {
  const show = (destination: Destination) => ({
    upstream: destination.name,
    forced: destination.breakers?.forced ?? 'auto',
    breakers: [...(destination.breakers?.entries() ?? [])].map(([breaker, state]) => ({
      breaker,
      ...state.snapshot(clock.now()),
    })),
  });

  const carryOut$ = ({ upstream, breaker, state, by, reason, requestId }: BreakerOrder): Observable<BreakerOrdered> => {
    const house = houseOf();
    const destination = house?.destinations.get(upstream);
    if (house === undefined || destination === undefined) {
      return of(unknown(`there is no upstream ${upstream} in this process`));
    }
    const { breakers } = destination;
    if (breakers === undefined) return of(unknown(`${upstream} has no breaker: it is configured off`));
    const one = breaker === undefined ? undefined : breakers.find(breaker);
    if (breaker !== undefined && one === undefined) return of(unknown(`${upstream} has no breaker ${breaker}`));

    const nowMs = clock.now();
    const from = (one === undefined ? breakers.forced : one.snapshot(nowMs).forced) ?? 'auto';
    if (breaker === undefined) breakers.forceAll(state, nowMs);
    else breakers.force(breaker, state, nowMs);
    for (const [key] of breakers.entries()) house.lanes.wake(breakerRoom(upstream, key));

    const to = state ?? 'auto';
    const what = breaker === undefined ? `breaker/${upstream}` : `breaker/${upstream}/${breaker}`;
    log.warn({ upstream, breaker: breaker ?? 'all', from, to, by, reason }, 'a person set a breaker');
    return audit
      .written({ by, what, from, to, reason, requestId })
      .pipe(map((audited) => ({ kind: 'done', audited, breakers: show(destination) })));
  };
  const desk: BreakerDesk = {
    show: () => ({ upstreams: [...(houseOf()?.destinations.values() ?? [])].map(show) }),
    order: (order) => defer(() => carryOut$(order)),
  };
  return desk;
}

function unknown(message: string): BreakerOrdered {
  return { kind: 'unknown', message };
}
