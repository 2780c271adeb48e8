import { Observable } from 'rxjs';

import type { Embedded } from '../../src/adapters/embedded/embedded.ts';
import { chance } from '../simulation/chance.ts';

import type { VirtualTime } from './virtual-time.ts';

/** Claims and the register of calls outside answer after some milliseconds, seldom after seconds; who reads or writes it waits often. */
export function answerLate({ claims, parked }: Embedded, time: VirtualTime, seed: number): void {
  let steps = 0;
  const late$ = <A>(answer$: () => Observable<A>, slowShare = 0.05): Observable<A> =>
    new Observable((subscriber) => {
      const nth = ++steps;
      const mostMs = chance(seed, 'slow', nth) < slowShare ? 2_000 : 8;
      const afterMs = Math.floor(chance(seed, 'late', nth) * mostMs);
      return time.after(afterMs, () => {
        subscriber.add(answer$().subscribe(subscriber));
      });
    });
  const [claim$, finish$] = [claims.claim.bind(claims), claims.finish.bind(claims)];
  claims.claim = (request) => late$(() => claim$(request));
  claims.finish = (finish) => late$(() => finish$(finish));
  const [open$, put$, remove$] = [parked.open.bind(parked), parked.put.bind(parked), parked.remove.bind(parked)];
  parked.open = (name) => late$(() => open$(name), 0.5);
  parked.put = (scope, away) => late$(() => put$(scope, away), 0.5);
  parked.remove = (scope, offset) => late$(() => remove$(scope, offset));
}
