import { firstValueFrom, merge, take } from 'rxjs';

import { after } from '../../operators/interop/after.ts';
import type { Claim, ClaimStore } from '../../ports/claim-store.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { RuleShelf, ShelfState } from '../../ports/rule-shelf.ts';

import type { RuleReading } from './rule-reading.ts';

/** What a {@link RuleExport} stands on. */
export interface RuleExportParts {
  readonly shelf: RuleShelf;
  readonly reading: RuleReading;
  readonly claims: Pick<ClaimStore, 'claim' | 'finish'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Names this process among all. */
  readonly process: string;
  /** From one export to the next. */
  readonly exportMs: number;
  /** How long a snapshot stands that nobody renews. */
  readonly ttlMs: number;
}

const id = 'rules/export';
// Longer than reading and writing may take together.
const leaseMs = 30_000;
// Its fences must go on counting as long as a snapshot may stand.
const rememberMs = 7 * 86_400_000;
const patienceMs = 2_000;
const againMs = { gone: 500, trouble: 5_000 };

/**
 * Keeps the rules on the shelf: reads their source once in `exportMs`, and lets what stands there stand on in between, also while the
 * source is away. One process of all does each of these, the others find it done.
 */
export class RuleExport {
  readonly #parts: RuleExportParts;
  #cancel: () => void = () => undefined;
  #rounds = 0;
  #running = false;
  #poked = false;
  #stopped = false;

  constructor(parts: RuleExportParts) {
    this.#parts = parts;
  }

  /** Looks now and from then on again and again, until it is stopped. */
  start(): void {
    void this.#round();
  }

  /** Somebody found nothing on the shelf: looks soon. */
  poke(): void {
    // Events that find nothing come faster than the next look: each of them would put it off.
    if (this.#running || this.#poked || this.#stopped) return;
    this.#poked = true;
    this.#later(againMs.gone);
  }

  /** Looks no more; what is under way ends by itself. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async #round(): Promise<void> {
    this.#running = true;
    this.#poked = false;
    const waitMs = await this.#look().catch(() => againMs.trouble);
    this.#running = false;
    if (!this.#stopped) this.#later(waitMs);
  }

  #later(ms: number): void {
    this.#cancel();
    // Not in step with the other processes.
    this.#cancel = this.#parts.timers.after(ms * (0.75 + this.#parts.random.next() / 2), () => void this.#round());
  }

  /** One look; resolves with how long nothing has to be done after it. */
  async #look(): Promise<number> {
    const { shelf, ttlMs, exportMs } = this.#parts;
    const idleMs = this.#idleMs(await shelf.state());
    if (idleMs > 0) return Math.min(idleMs, ttlMs / 8);
    const claim = await this.#claim();
    if (claim === undefined) return againMs.gone;
    try {
      // Who had the claim before may have done it all.
      const state = await shelf.state();
      const stillMs = this.#idleMs(state);
      if (stillMs > 0) return Math.min(stillMs, ttlMs / 8);
      return (await this.#keep(state, claim.fence)) ? Math.min(exportMs, ttlMs / 8) : againMs.trouble;
    } finally {
      await this.#release(claim);
    }
  }

  /** How long what stands on the shelf is new enough and stands for long enough; 0: no longer. */
  #idleMs(state: ShelfState | undefined): number {
    const { clock, exportMs, ttlMs } = this.#parts;
    if (state === undefined || state.leftMs <= ttlMs / 2) return 0;
    return Math.max(0, state.exportedAtMs + exportMs - clock.wall());
  }

  /** `false`: it has to be tried again soon. */
  async #keep(state: ShelfState | undefined, fence: number): Promise<boolean> {
    const { shelf, reading, clock, exportMs, ttlMs } = this.#parts;
    const due = state === undefined || state.exportedAtMs + exportMs <= clock.wall();
    if (!due && (await shelf.renew(ttlMs))) return true;
    try {
      return await shelf.write(await reading.read(), fence, ttlMs);
    } catch (error) {
      // Old rules are better than none, and another process may know older ones than this one.
      if (state !== undefined && (await shelf.renew(ttlMs))) return false;
      if (reading.last === undefined) throw error;
      await shelf.write(reading.last, fence, ttlMs);
      return false;
    }
  }

  async #claim(): Promise<Claim | undefined> {
    const { claims, timers, process } = this.#parts;
    const origin = `${process}/${this.#rounds++}`;
    const asked$ = claims.claim({ id, origin, leaseMs, ttlMs: rememberMs, sent: false });
    const late$ = after(timers, patienceMs);
    const reply = await firstValueFrom(merge(asked$, late$).pipe(take(1)), { defaultValue: true as const });
    return reply !== true && reply.kind === 'granted' ? { id, fence: reply.fence } : undefined;
  }

  /** Free for whoever comes next. */
  async #release(claim: Claim): Promise<void> {
    const { claims, timers } = this.#parts;
    const finish = { claim, state: 'FAILED', result: '', delayMs: 0, nothingActed: true, ttlMs: rememberMs } as const;
    const finished$ = merge(claims.finish(finish), after(timers, patienceMs)).pipe(take(1));
    await firstValueFrom(finished$, { defaultValue: false });
  }
}
