import { Observable, of, type Subscriber } from 'rxjs';

import { refreshAtMs, refreshPauseMs, type TokenLife, usable } from '../../operators/token/token-age.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Token, TokenReply } from '../../ports/token-source.ts';

/** What came of asking the platform for a token. `life` counts from before the question. */
export type Fetched =
  | { readonly kind: 'token'; readonly value: string; readonly lifeMs: number }
  | { readonly kind: 'unavailable'; readonly askedMs: number; readonly message: string; readonly code?: number }
  | { readonly kind: 'refused'; readonly message: string; readonly code?: number };

/** A token that a process holds, or that was rejected. */
export interface Previous {
  readonly value: string;
  /** Monotonic milliseconds. */
  readonly expiresAtMs: number;
}

interface Held extends TokenLife {
  readonly token: Token;
  readonly refreshAtMs: number;
}

/**
 * One token of one app: fetched once for all who ask, refreshed ahead while the old one still serves, asked for less
 * often the more often that fails (1 s doubling to 30 s).
 *
 * A rejected version is fetched again at once. When the platform then hands out the same token, it stands by it (it
 * does while 30 minutes remain), so the token is served further under its old version: an API that takes no tenant
 * token answers as if the token were stale, and one such call must not stop its app. Whoever is rejected twice with one
 * version has his answer. Rejections of a version that was confirmed in the last pause cause no further question.
 */
export class TokenSlot {
  readonly #fetch$: (previous: Previous | undefined) => Observable<Fetched>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #nextVersion: () => number;
  readonly #waiting = new Set<Subscriber<TokenReply>>();
  #held: Held | undefined;
  /** The token that was rejected, while the platform is asked about it. */
  #suspect: Held | undefined;
  #failures = 0;
  /** Nobody asks before this; `#reply` answers meanwhile. */
  #pausedUntilMs = -Infinity;
  #reply: Exclude<Fetched, { kind: 'token' }> | undefined;
  #confirmations = 0;
  #confirmedUntilMs = -Infinity;
  #fetching = false;

  /**
   * @param fetch$ asks for a token, other than the one that is held or was rejected if there is another
   * @param nextVersion never gives a number twice, also to the successor of this slot
   */
  constructor(
    fetch$: (previous: Previous | undefined) => Observable<Fetched>,
    clock: Clock,
    random: Random,
    nextVersion: () => number,
  ) {
    this.#fetch$ = fetch$;
    this.#clock = clock;
    this.#random = random;
    this.#nextVersion = nextVersion;
  }

  /** A cached token comes synchronously. Unsubscribing stops the wait, not the question: others wait for it too. */
  get(): Observable<TokenReply> {
    const nowMs = this.#clock.now();
    const held = this.#held;
    if (held !== undefined && usable(held, nowMs)) {
      if (nowMs >= held.refreshAtMs && nowMs >= this.#pausedUntilMs) this.#ask();
      return of({ kind: 'token', token: held.token });
    }
    return new Observable((subscriber) => {
      const refusal = this.#refusal(this.#clock.now());
      if (refusal !== undefined) {
        subscriber.next(refusal);
        subscriber.complete();
        return undefined;
      }
      this.#waiting.add(subscriber);
      this.#ask();
      return () => this.#waiting.delete(subscriber);
    });
  }

  reject(version: number): void {
    const held = this.#held;
    if (held?.token.version !== version || this.#clock.now() < this.#confirmedUntilMs) return;
    this.#suspect = held;
    this.#held = undefined;
  }

  #refusal(nowMs: number): TokenReply | undefined {
    const waitMs = this.#pausedUntilMs - nowMs;
    if (waitMs <= 0 || this.#reply === undefined) return undefined;
    const { kind, message } = this.#reply;
    return kind === 'refused' ? { kind, message } : { kind, waitMs, message };
  }

  #ask(): void {
    if (this.#fetching) return;
    this.#fetching = true;
    const askedAtMs = this.#clock.now();
    let fetched: Fetched = { kind: 'unavailable', askedMs: 0, message: 'no answer' };
    const settle = (): void => {
      this.#fetching = false;
      this.#take(fetched, askedAtMs);
    };
    const before = this.#held ?? this.#suspect;
    const previous = before === undefined ? undefined : { value: before.token.value, expiresAtMs: before.expiresAtMs };
    this.#fetch$(previous).subscribe({
      next: (answer) => {
        fetched = answer;
      },
      error: settle,
      complete: settle,
    });
  }

  #take(fetched: Fetched, askedAtMs: number): void {
    const nowMs = this.#clock.now();
    if (fetched.kind === 'token') {
      const life = { obtainedAtMs: askedAtMs, expiresAtMs: askedAtMs + fetched.lifeMs };
      if (usable(life, nowMs)) {
        this.#hold(fetched.value, life, nowMs);
        return;
      }
      this.#fail({ kind: 'unavailable', askedMs: 0, message: 'the token that came has no life left' }, nowMs);
    } else {
      this.#fail(fetched, nowMs);
    }
  }

  #hold(value: string, life: TokenLife, nowMs: number): void {
    const previous = this.#held ?? this.#suspect;
    const same = previous?.token.value === value;
    if (same && this.#suspect !== undefined) {
      this.#confirmedUntilMs = nowMs + refreshPauseMs(++this.#confirmations);
    } else if (!same) {
      this.#confirmations = 0;
      this.#confirmedUntilMs = -Infinity;
    }
    const token = same ? previous.token : { value, version: this.#nextVersion() };
    this.#held = { token, ...life, refreshAtMs: refreshAtMs(life, this.#random) };
    this.#suspect = undefined;
    this.#failures = 0;
    this.#pausedUntilMs = -Infinity;
    this.#reply = undefined;
    this.#answer({ kind: 'token', token });
  }

  #fail(reply: Exclude<Fetched, { kind: 'token' }>, nowMs: number): void {
    const askedMs = reply.kind === 'unavailable' ? reply.askedMs : 0;
    this.#pausedUntilMs = nowMs + Math.max(refreshPauseMs(++this.#failures), askedMs);
    this.#reply = reply;
    const refusal = this.#refusal(nowMs);
    if (refusal !== undefined) this.#answer(refusal);
  }

  #answer(reply: TokenReply): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const subscriber of waiting) {
      subscriber.next(reply);
      subscriber.complete();
    }
  }
}
