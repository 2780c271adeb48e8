import type { Observable } from 'rxjs';

import { fitting, type FaultSubject, type InjectedFault } from '../../model/injected-fault.ts';
import type { Exchange } from '../../model/outcome.ts';
import { RuleBook } from '../../model/rule-book.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Upstream, UpstreamRequest } from '../../ports/upstream.ts';

import { injectFault } from './inject-fault.ts';

/** Decides once per request which fault it meets. */
export class InjectedFaults extends RuleBook<InjectedFault, FaultSubject> {
  constructor(random: Random) {
    super(random, fitting);
  }
}

/** {@link Upstream} whose attempts fail on purpose where the rules say so; without a rule that fits it is the one within. */
export class FaultyUpstream implements Upstream {
  readonly #within: Upstream;
  readonly #place: Pick<FaultSubject, 'upstream' | 'host'>;
  readonly #faults: Pick<InjectedFaults, 'decide'>;
  readonly #timers: Timers;

  constructor(
    within: Upstream,
    place: Pick<FaultSubject, 'upstream' | 'host'>,
    faults: Pick<InjectedFaults, 'decide'>,
    timers: Timers,
  ) {
    this.#within = within;
    this.#place = place;
    this.#faults = faults;
    this.#timers = timers;
  }

  send(request: UpstreamRequest, timeoutMs: number): Observable<Exchange> {
    const { method, path } = request;
    const mark = path.indexOf('?');
    const rule = this.#faults.decide({ ...this.#place, method, path: mark < 0 ? path : path.slice(0, mark) });
    return this.#within.send(request, timeoutMs).pipe(injectFault(rule, { timers: this.#timers, timeoutMs }));
  }
}
