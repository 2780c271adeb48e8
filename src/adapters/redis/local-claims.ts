import type { Claim, ClaimReply, ClaimRequest, ClaimView, Finish } from '../../ports/claim-store.ts';

const mostClaims = 50_000;
const mostResultBytes = 32 * 1024 * 1024;
const askAgainMs = 1_000;

interface LocalClaim {
  readonly request: ClaimRequest;
  readonly fence: number;
  /** Monotonic; no attempt without the store from then on. */
  readonly untilMs: number;
  /** `undefined` while the call is under way. */
  finish: Omit<Finish, 'claim'> | undefined;
  writing: boolean;
}

/** Claims of one process while their store is away. Fences are negative, which no store gives. Bounded in ids and bytes. */
export class LocalClaims {
  readonly #claims = new Map<string, LocalClaim>();
  #bytes = 0;
  #fences = 0;

  get size(): number {
    return this.#claims.size;
  }

  has(id: string): boolean {
    // Mostly there are none, and to look for an id is to hash it.
    return this.#claims.size > 0 && this.#claims.has(id);
  }

  /** Whether a claim is ours and may be for `leaseMs` more; one that may not is forgotten, and its call asks the store. */
  extend({ id, fence }: Claim, leaseMs: number, nowMs: number): boolean {
    const held = this.#claims.get(id);
    if (held === undefined || held.fence !== fence || held.finish !== undefined) return false;
    if (nowMs + leaseMs <= held.untilMs) return true;
    this.forget(id);
    return false;
  }

  /** `undefined`: it would not be safe, or there is no room; the call must wait. */
  claim(request: ClaimRequest, nowMs: number): ClaimReply | undefined {
    const known = this.#claims.get(request.id);
    if (known !== undefined) {
      // A person has sent it again: only the store knows whether it was the first to.
      const reopens = known.finish?.state === 'DEAD' && (request.round ?? 0) > (known.request.round ?? 0);
      return reopens ? undefined : this.#replyOf(known);
    }
    const untilMs = nowMs + (request.withoutStoreMs ?? 0);
    if (nowMs + request.leaseMs > untilMs) return undefined;
    if (this.#claims.size >= mostClaims && !this.#dropOldest()) return undefined;
    const fence = -++this.#fences;
    this.#claims.set(request.id, { request, fence, untilMs, finish: undefined, writing: false });
    return { kind: 'granted', fence, firstSentAgoMs: undefined, takeovers: 0 };
  }

  /** `false`: not ours. */
  finish({ claim, ...finish }: Finish): boolean {
    const held = this.#claims.get(claim.id);
    if (held === undefined || held.fence !== claim.fence || held.finish !== undefined) return false;
    if (finish.state === 'FAILED') this.forget(claim.id);
    else this.#end(held, finish);
    return true;
  }

  /** Remembers the end of a claim that the store granted and could not be told of. */
  adopt(request: ClaimRequest, { claim: _theirs, ...finish }: Finish): void {
    if (finish.state === 'FAILED') return;
    if (this.#claims.size >= mostClaims && !this.#dropOldest()) return;
    const held: LocalClaim = { request, fence: -++this.#fences, untilMs: 0, finish: undefined, writing: false };
    this.#claims.set(request.id, held);
    this.#end(held, finish);
  }

  /** `undefined`: nothing is known here. */
  view(id: string): ClaimView | undefined {
    const held = this.#claims.get(id);
    if (held === undefined) return undefined;
    const reply = this.#replyOf(held);
    return reply.kind === 'processed' || reply.kind === 'dead' ? reply : { kind: 'pending' };
  }

  /** Up to so many that have ended and that nobody writes down yet. */
  ended(count: number): readonly { readonly request: ClaimRequest; readonly finish: Omit<Finish, 'claim'> }[] {
    const found: { request: ClaimRequest; finish: Omit<Finish, 'claim'> }[] = [];
    for (const held of this.#claims.values()) {
      if (found.length >= count) break;
      if (held.finish === undefined || held.writing) continue;
      held.writing = true;
      found.push({ request: held.request, finish: held.finish });
    }
    return found;
  }

  /** It could not be written down: it is among the {@link ended} again. */
  writeLater(id: string): void {
    const held = this.#claims.get(id);
    if (held !== undefined) held.writing = false;
  }

  forget(id: string): void {
    this.#bytes -= this.#claims.get(id)?.finish?.result.length ?? 0;
    this.#claims.delete(id);
  }

  #end(held: LocalClaim, finish: Omit<Finish, 'claim'>): void {
    held.finish = finish;
    this.#bytes += finish.result.length;
    while (this.#bytes > mostResultBytes && this.#dropOldest());
  }

  #replyOf({ request: { origin }, finish }: LocalClaim): ClaimReply {
    if (finish === undefined) return { kind: 'pending', waitMs: askAgainMs };
    return { kind: finish.state === 'PROCESSED' ? 'processed' : 'dead', origin, result: finish.result };
  }

  /** Makes room by what ended longest ago; what is under way is never forgotten. */
  #dropOldest(): boolean {
    for (const [id, { finish }] of this.#claims) {
      if (finish === undefined) continue;
      this.forget(id);
      return true;
    }
    return false;
  }
}
