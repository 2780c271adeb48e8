import { Observable } from 'rxjs';

import type {
  Cancelled,
  Claim,
  ClaimReply,
  ClaimRequest,
  ClaimStore,
  ClaimView,
  Finish,
} from '../../../src/ports/claim-store.ts';
import type { Op } from '../plan.ts';

import type { Process } from './process.ts';

/**
 * The claims' client of one process. While the server is away its steps wait; a step whose request or reply was lost goes
 * again with the same nonce; a grant that nobody waits for any more is given back.
 */
export class Claims implements ClaimStore {
  readonly #process: Process;
  #steps = 0;

  constructor(process: Process) {
    this.#process = process;
  }

  claim(request: ClaimRequest): Observable<ClaimReply> {
    const { id, ttlMs } = request;
    return this.#step(
      'claim',
      id,
      (nonce) => this.#server.claim(request, nonce),
      (reply) => {
        if (reply.kind !== 'granted') return;
        const claim: Claim = { id, fence: reply.fence };
        this.finish({ claim, state: 'FAILED', result: '', delayMs: 0, ttlMs }).subscribe();
      },
    );
  }

  extend(claims: readonly Claim[], leaseMs: number): Observable<readonly boolean[]> {
    return this.#step('extend', `${claims.length} claims`, () =>
      claims.map(({ id, fence }) => this.#server.extend(id, fence, leaseMs)),
    );
  }

  finish(finish: Finish): Observable<boolean> {
    return this.#step('finish', finish.claim.id, (nonce) => this.#server.finish(finish, nonce));
  }

  view(): Observable<ClaimView> {
    throw new Error('a worker looks at no claim');
  }

  cancel(): Observable<Cancelled> {
    throw new Error('a worker cancels no call');
  }

  ready(): boolean {
    return true;
  }

  get #server() {
    return this.#process.world.claims;
  }

  #step<A>(op: Op, id: string, apply: (nonce: string) => A, unwanted?: (answer: A) => void): Observable<A> {
    return new Observable<A>((subscriber) => {
      if (!this.#process.enter(op)) return;
      const nth = this.#steps++;
      const nonce = `${this.#process.name}/${nth}`;
      const answered = (answer: A): void => {
        if (subscriber.closed) unwanted?.(answer);
        subscriber.next(answer);
        subscriber.complete();
      };
      this.#travel({ op, id, nonce, nth, apply: () => apply(nonce), answered }, 0);
    });
  }

  #travel<A>(step: Travelling<A>, tries: number): void {
    const { world } = this.#process;
    const { nth, op, id } = step;
    const again = (ms: number): void => this.#process.deliver(ms, () => this.#travel(step, tries + 1));
    const lossy = world.weather.now('claims-lossy', world.clock.now());
    if (lossy !== undefined && this.#process.draw(0, 1, 'request', nth, tries) < lossy.share / 2) {
      again(250);
      return;
    }
    world.clock.at(this.#process.inLine('claims', this.#process.draw(0.2, 4, 'step', nth, tries)), () => {
      const away = world.weather.now('claims-away', world.clock.now());
      if (away !== undefined) {
        again(250);
        return;
      }
      const answer = step.apply();
      world.note(this.#process.name, `${op} ${id} ->`, typeof answer === 'boolean' ? String(answer) : wordOf(answer));
      if (lossy !== undefined && this.#process.draw(0, 1, 'reply', nth, tries) < lossy.share / 2) again(250);
      else this.#process.deliver(this.#process.draw(0.2, 4, 'answer', nth, tries), () => step.answered(answer));
    });
  }
}

interface Travelling<A> {
  readonly op: Op;
  readonly id: string;
  readonly nonce: string;
  readonly nth: number;
  readonly apply: () => A;
  readonly answered: (answer: A) => void;
}

function wordOf(answer: unknown): string {
  if (Array.isArray(answer)) return `${answer.filter((kept) => kept === true).length} of ${answer.length}`;
  const reply = answer as ClaimReply;
  return reply.kind === 'granted' ? `granted ${reply.fence}` : reply.kind;
}
