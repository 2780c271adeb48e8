import fc from 'fast-check';

import type { Cancelled, ClaimReply, ClaimStore } from '../../../src/ports/claim-store.ts';
import { only } from '../only.ts';

/** A fresh id in a store, and the clock that the store goes by. */
export interface ModelledClaim {
  readonly store: ClaimStore;
  readonly id: string;
  advance(ms: number): Promise<void>;
}

const leaseMs = 1_000;
// Time to live is not part of the model: nothing in a history lives that long.
const ttlMs = 1e12;

type Event =
  | { readonly do: 'claim'; readonly origin: string; readonly sent: boolean; readonly round: number }
  | { readonly do: 'extend'; readonly behind: number }
  | { readonly do: 'cancel' }
  | {
      readonly do: 'finish';
      readonly behind: number;
      readonly state: 'PROCESSED' | 'FAILED' | 'DEAD';
      readonly delayMs: number;
    }
  | { readonly do: 'advance'; readonly ms: number };

// `behind` counts back from the last fence: 0 is the owner, more is one that was superseded, -1 one that never was.
const behind = fc.constantFrom(0, 0, 0, 0, 1, 2, -1);
const claims = fc.record({
  do: fc.constant('claim' as const),
  origin: fc.constantFrom('A', 'B'),
  sent: fc.boolean(),
  round: fc.constantFrom(0, 0, 0, 1, 2, 3),
});
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: claims },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('extend' as const), behind }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      behind,
      // Mostly FAILED: the others end the story.
      state: fc.constantFrom(
        'FAILED' as const,
        'FAILED' as const,
        'FAILED' as const,
        'PROCESSED' as const,
        'DEAD' as const,
      ),
      delayMs: fc.constantFrom(0, 1, 500),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 499, 500, 999, 1_000, 1_001) }),
  },
);

/** The table of claims once more, as plainly as it can be said. */
class Model {
  now = 0;
  state: 'NONE' | 'PENDING' | 'FAILED' | 'PROCESSED' | 'DEAD' = 'NONE';
  fence = 0;
  until = 0;
  takeovers = 0;
  round = 0;
  firstSent: number | undefined;
  origin = '';
  result = '';
  unwanted = false;

  claim(origin: string, sent: boolean, round: number): ClaimReply {
    if (this.state === 'DEAD' && round > this.round) {
      this.state = 'FAILED';
      this.until = this.now;
      this.takeovers = 0;
      this.firstSent = undefined;
      this.unwanted = false;
      this.result = '';
    }
    if (this.state === 'PROCESSED') return { kind: 'processed', origin: this.origin, result: this.result };
    if (this.state === 'DEAD') return { kind: 'dead', origin: this.origin, result: this.result };
    if (this.state === 'FAILED' && this.now < this.until) return { kind: 'not-due', waitMs: this.until - this.now };
    if (this.state === 'PENDING' && this.now < this.until) return { kind: 'pending', waitMs: this.until - this.now };
    if (this.state === 'PENDING' && this.takeovers === 8) {
      this.state = 'DEAD';
      return { kind: 'dead', origin: this.origin, result: this.result };
    }
    if (this.state === 'PENDING') this.takeovers++;
    const firstSentAgoMs = this.firstSent === undefined ? undefined : this.now - this.firstSent;
    this.state = 'PENDING';
    this.fence++;
    this.until = this.now + leaseMs;
    this.origin = origin;
    this.round = Math.max(this.round, round);
    if (sent && !this.unwanted) this.firstSent ??= this.now;
    const granted = { kind: 'granted', fence: this.fence, firstSentAgoMs, takeovers: this.takeovers } as const;
    return this.unwanted ? { ...granted, cancelled: true } : granted;
  }

  cancel(): Cancelled {
    if (this.state === 'PROCESSED' || this.state === 'DEAD') return 'ended';
    this.unwanted = true;
    if (this.state === 'NONE') this.state = 'FAILED';
    if (this.state !== 'FAILED' || this.firstSent !== undefined) return 'told';
    this.until = this.now;
    return 'kept';
  }

  owns(fence: number): boolean {
    return this.state === 'PENDING' && fence === this.fence;
  }
}

/** Invariants 24 and 25 beside the model: what no history may ever show, even if the model were wrong. */
class Witness {
  #lastFence = 0;
  #liveUntil = 0;
  readonly #finished = new Set<number>();
  #ended: string | undefined;
  #round = 0;

  granted(fence: number, now: number, round: number): void {
    if (fence <= this.#lastFence) throw new Error(`fence ${fence} after ${this.#lastFence}`);
    if (now < this.#liveUntil) throw new Error(`fence ${fence} granted while ${this.#lastFence} holds a live lease`);
    const reopens = this.#ended === 'DEAD' && round > this.#round;
    if (this.#ended !== undefined && !reopens) throw new Error(`fence ${fence} granted after the claim had ended`);
    this.#ended = undefined;
    this.#round = Math.max(this.#round, round);
    this.#lastFence = fence;
    this.#liveUntil = now + leaseMs;
  }

  extended(now: number): void {
    this.#liveUntil = now + leaseMs;
  }

  finished(fence: number, state: string): void {
    if (this.#finished.has(fence)) throw new Error(`fence ${fence} finished twice`);
    if (fence !== this.#lastFence) throw new Error(`superseded fence ${fence} finished`);
    this.#finished.add(fence);
    this.#liveUntil = 0;
    this.#ended = state === 'FAILED' ? undefined : state;
  }
}

/**
 * Any history of claims, extensions, endings and passing time gets the answers of the naive model, keeps at
 * most one live owner, strictly growing fences and one finish per fence (invariant 24), and PROCESSED stays (25), as does
 * DEAD but for a round that nobody has had.
 */
export function keepsToTheTable(open: () => ModelledClaim): fc.IAsyncPropertyWithHooks<[Event[]]> {
  return fc.asyncProperty(fc.array(event, { minLength: 30, maxLength: 80, size: 'max' }), async (events) => {
    const claim = open();
    const model = new Model();
    const witness = new Witness();
    for (const [index, event] of events.entries()) {
      try {
        await play(event, claim, model, witness);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new Error(`step ${index}, ${JSON.stringify(event)}: ${why}`, { cause: error });
      }
    }
  });
}

async function play(event: Event, claim: ModelledClaim, model: Model, witness: Witness): Promise<void> {
  const { store, id } = claim;
  switch (event.do) {
    case 'advance':
      model.now += event.ms;
      await claim.advance(event.ms);
      return;
    case 'claim': {
      const { origin, sent, round } = event;
      const reply = await only(store.claim({ id, origin, leaseMs, ttlMs, sent, round }));
      same(reply, model.claim(origin, sent, round));
      if (reply.kind === 'granted') witness.granted(reply.fence, model.now, round);
      return;
    }
    case 'cancel':
      same(await only(store.cancel(id, ttlMs)), model.cancel());
      return;
    case 'extend': {
      const fence = model.fence - event.behind;
      const owns = model.owns(fence);
      same(await only(store.extend([{ id, fence }], leaseMs)), [owns]);
      if (!owns) return;
      model.until = model.now + leaseMs;
      witness.extended(model.now);
      return;
    }
    case 'finish': {
      const { state, delayMs } = event;
      const fence = model.fence - event.behind;
      const owns = model.owns(fence);
      const result = `r${fence}`;
      const stored = await only(store.finish({ claim: { id, fence }, state, result, delayMs, ttlMs }));
      if (stored) witness.finished(fence, state);
      same(stored, owns);
      if (!owns) return;
      model.state = state;
      model.until = model.now + delayMs;
      model.result = state === 'FAILED' ? '' : result;
      if (state !== 'FAILED') model.unwanted = false;
    }
  }
}

function same(actual: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(actual, sorted), JSON.stringify(expected, sorted)];
  if (a !== b) throw new Error(`answered ${a}, not ${b}`);
}

function sorted(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
