import { Observable } from 'rxjs';

import type { Exchange } from '../../model/outcome.ts';
import type { TargetChoice } from '../../operators/targets/target-choice.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Upstream, UpstreamRequest } from '../../ports/upstream.ts';

/** {@link Upstream} over several equal ones: each attempt goes to the one that is chosen for it. Owns none of them. */
export class TargetedUpstream implements Upstream {
  readonly #targets: readonly Upstream[];
  readonly #choice: TargetChoice;
  readonly #clock: Clock;

  /** @param choice among as many as there are targets */
  constructor(targets: readonly Upstream[], choice: TargetChoice, clock: Clock) {
    this.#targets = targets;
    this.#choice = choice;
    this.#clock = clock;
  }

  send(request: UpstreamRequest, timeoutMs: number): Observable<Exchange> {
    return new Observable((subscriber) => {
      const chosen = this.#choice.choose(this.#clock.now());
      const target = this.#targets[chosen.index];
      // Before what is under way is aborted: an abort says nothing about the target.
      subscriber.add(() => chosen.dropped());
      subscriber.add(
        target?.send(request, timeoutMs).subscribe({
          next: (exchange) => {
            chosen.ended(this.#clock.now(), isFailure(exchange));
            subscriber.next(exchange);
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      );
    });
  }
}

/** What says that a target is sick, whatever was asked. */
function isFailure(exchange: Exchange): boolean {
  return exchange.kind === 'failed' ? exchange.failure !== 'response-too-large' : exchange.status >= 500;
}
