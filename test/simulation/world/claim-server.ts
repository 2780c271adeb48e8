import {
  cancelStep,
  type ClaimRecord,
  claimStep,
  extendStep,
  finishStep,
  liveAt,
  type Step,
} from '../../../src/adapters/embedded/claim-rules.ts';
import type { Cancelled, ClaimReply, ClaimRequest, Finish } from '../../../src/ports/claim-store.ts';

import type { World } from './world.ts';

/** A claim as the server stores it; `nonce` names the step that wrote it last. */
interface Stored {
  readonly record: ClaimRecord;
  readonly nonce: string;
  readonly reply: unknown;
}

const epochMs = Date.UTC(2026, 0, 1);

/**
 * The claims' server, with its own clock and the same rules as the scripts in Redis: a step that comes again because its
 * reply was lost finds its own mark and is answered as the first time. It may lose its last second, or everything.
 */
export class ClaimServer {
  /** Ids of which something was lost. What a failover forgets nobody can hold against the house. */
  readonly forgotten = new Set<string>();
  readonly #world: World;
  readonly #stored = new Map<string, Stored>();
  readonly #journal: { readonly atMs: number; readonly id: string; readonly before: Stored | undefined }[] = [];
  #skewMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  claim(request: ClaimRequest, nonce: string): ClaimReply {
    const known = this.#stored.get(request.id);
    if (known?.nonce === nonce && known.record.state === 'PENDING') {
      this.#write(request.id, { ...known, record: { ...known.record, untilMs: this.#now() + request.leaseMs } });
      return known.reply as ClaimReply;
    }
    return this.#step(request.id, nonce, (record) => claimStep(record, request, this.#now()));
  }

  extend(id: string, fence: number, leaseMs: number): boolean {
    return this.#step(id, undefined, (record) => extendStep(record, fence, leaseMs, this.#now()));
  }

  finish(finish: Finish, nonce: string): boolean {
    const { id, fence } = finish.claim;
    const known = this.#stored.get(id);
    if (known?.nonce === nonce && known.record.state === finish.state && known.record.fence === fence) return true;
    return this.#step(id, nonce, (record) => finishStep(record, finish, this.#now()));
  }

  cancel(id: string, ttlMs: number): Cancelled {
    return this.#step(id, undefined, (record) => cancelStep(record, ttlMs, this.#now()));
  }

  /** The fence that an id has at present. */
  fenceOf(id: string): number {
    return this.#stored.get(id)?.record.fence ?? 0;
  }

  /** What a server without fences would do. */
  overwrite({ claim: { id, fence }, state, result }: Finish): void {
    const known = this.#stored.get(id);
    if (known !== undefined) this.#write(id, { ...known, record: { ...known.record, state, fence, result } });
  }

  /** A failover to a replica that was behind. */
  loseLastSecond(): void {
    const fromMs = this.#world.clock.now() - 1_000;
    for (let last = this.#journal.at(-1); last !== undefined && last.atMs >= fromMs; last = this.#journal.at(-1)) {
      this.#journal.pop();
      this.forgotten.add(last.id);
      if (last.before === undefined) this.#stored.delete(last.id);
      else this.#stored.set(last.id, last.before);
    }
  }

  /** A restart without its file. */
  loseAll(): void {
    for (const id of this.#stored.keys()) this.forgotten.add(id);
    this.#stored.clear();
    this.#journal.length = 0;
  }

  /** Leases end early when it jumps ahead, and then two may be at one call. */
  jump(byMs: number): void {
    this.#skewMs += byMs;
    if (byMs <= 0) return;
    for (const [id, { record }] of this.#stored) if (record.state === 'PENDING') this.forgotten.add(id);
  }

  #now(): number {
    return epochMs + this.#world.clock.now() + this.#skewMs;
  }

  #step<A>(id: string, nonce: string | undefined, decide: (record: ClaimRecord | undefined) => Step<A>): A {
    const known = this.#stored.get(id);
    const { next, answer } = decide(liveAt(known?.record, this.#now()));
    if (next !== undefined)
      this.#write(
        id,
        nonce === undefined
          ? { nonce: '', reply: undefined, ...known, record: next }
          : { record: next, nonce, reply: answer },
      );
    return answer;
  }

  #write(id: string, stored: Stored): void {
    this.#journal.push({ atMs: this.#world.clock.now(), id, before: this.#stored.get(id) });
    this.#stored.set(id, stored);
  }
}
