import { defer, type Observable, of, tap } from 'rxjs';

import type { Exchange } from '../../model/outcome.ts';
import { after } from '../../operators/interop/after.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Vault } from '../../ports/vault.ts';

import type { AuthCalls } from './auth-calls.ts';
import { classifyFeishu } from './classify.ts';
import type { Fetched } from './token-slot.ts';
import { type Ended, type Pair, pairIn, pairOf, type Revocation } from './user-pair.ts';

/** What user tokens need. */
export interface UserTokensOptions {
  readonly auth: AuthCalls;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly timers: Timers;
  /**
   * Told when a user's consent has ended, or cannot be used any more; emits once it is known to everybody. Told `again` when
   * the process that should have told it seems to have died.
   */
  onRevoked(revoked: Revoked, again: boolean): Observable<unknown>;
  /** Counts one refresh. @param startedMs monotonic */
  readonly count?: (app: string, fetched: Fetched, startedMs: number) => void;
}

/** The end of a consent; the same however often it is told. */
export interface Revoked {
  readonly app: string;
  readonly openId: string;
  readonly reason: Revocation;
  /** When it was noted, epoch milliseconds. */
  readonly atMs: number;
}

/** What an app shows to the token endpoint. */
interface AppSecret {
  readonly id: string;
  readonly secret: string;
}

/** Where the tokens of a user are kept. */
export const userKey = (app: string, openId: string): string => `user/${app}/${openId}`;

const path = '/open-apis/authen/v2/oauth/token';
const usableMs = 180_000;
const keptMs = 400 * 86_400_000;
// Longer than a question may take; who refreshes for longer has died, and nobody knows what became of it.
const refreshLimitMs = 30_000;
const askAgainMs = 200;
// Who has not told the end of a consent for so long has died over it.
const tellLimitMs = 10_000;

/**
 * Tokens of users who consented. A refresh token serves once, so all processes refresh through the vault: one of them marks
 * the pair, asks the platform, and puts the new pair into the vault before anybody uses it. When the answer is lost nobody
 * knows whether the old one still serves: then it is not tried again, and the user must consent anew.
 */
export class UserTokens {
  readonly #options: UserTokensOptions;

  constructor(options: UserTokensOptions) {
    this.#options = options;
  }

  /** The user's access token, other than the rejected one. @param app with its secret */
  fetch(app: AppSecret, openId: string, rejected: string | undefined): Observable<Fetched> {
    const { vault, clock, timers } = this.#options;
    const key = userKey(app.id, openId);
    return andThen(vault.read(key), (entry): Observable<Fetched> => {
      const pair = entry === undefined ? undefined : pairIn(entry.text);
      const nowMs = clock.wall();
      if (entry === undefined || pair === undefined) {
        return refused(`user ${openId} has not consented to app ${app.id}: open /oauth/${app.id}/start`);
      }
      if (pair.ended !== undefined) {
        const { ended } = pair;
        return this.#untold(ended)
          ? this.#tell(app.id, openId, ended, entry.version, true)
          : refused(consentAnew(app.id, openId, ended.reason));
      }
      const lifeMs = pair.accessEndsAtMs - nowMs;
      if (lifeMs > usableMs && pair.access !== rejected) return of({ kind: 'token', value: pair.access, lifeMs });
      if (pair.refreshingSinceMs !== undefined) {
        if (nowMs - pair.refreshingSinceMs > refreshLimitMs) {
          return this.#end(app.id, openId, entry.version, 'refresh_outcome_unknown');
        }
        return andThen(after(timers, askAgainMs), () => this.fetch(app, openId, rejected));
      }
      if (pair.refresh === '' || pair.refreshEndsAtMs <= nowMs) {
        return this.#end(app.id, openId, entry.version, 'expired');
      }
      const marked = { ...pair, refreshingSinceMs: nowMs };
      return andThen(vault.write(key, JSON.stringify(marked), entry.version, keptMs), (ours) =>
        ours ? this.#counted(app, openId, pair, entry.version + 1) : this.fetch(app, openId, rejected),
      );
    });
  }

  /** Keeps what a consent has given. @returns the `expires_in` of both, or what is wrong with the answer */
  keep(app: string, openId: string, exchange: Exchange): Observable<boolean> {
    const pair = pairOf(exchange, this.#options.clock.wall());
    if (pair === undefined) return of(false);
    return this.#put(userKey(app, openId), pair);
  }

  /**
   * The platform says that the user's consent was over at `atMs`, epoch milliseconds: it says so again and again, and a
   * consent that was given since then goes on. Emits once everybody has been told.
   */
  revoke(app: string, openId: string, atMs: number | undefined): Observable<void> {
    const { vault, timers } = this.#options;
    return andThen(vault.read(userKey(app, openId)), (entry): Observable<void> => {
      const pair = entry === undefined ? undefined : pairIn(entry.text);
      if (entry === undefined || pair === undefined) return of(undefined);
      const { ended, consentedAtMs } = pair;
      if (ended?.told === true || (atMs !== undefined && atMs < consentedAtMs)) return of(undefined);
      const again$ = defer(() => this.revoke(app, openId, atMs));
      if (ended === undefined) {
        return andThen(this.#end(app, openId, entry.version, 'revoked_by_platform'), () => again$);
      }
      return this.#untold(ended)
        ? andThen(this.#tell(app, openId, ended, entry.version, true), () => again$)
        : andThen(after(timers, askAgainMs), () => again$);
    });
  }

  #counted(app: AppSecret, openId: string, pair: Pair, version: number): Observable<Fetched> {
    const { count, clock } = this.#options;
    const startedMs = clock.now();
    return this.#refresh(app, openId, pair, version).pipe(tap((fetched) => count?.(app.id, fetched, startedMs)));
  }

  #refresh(app: AppSecret, openId: string, pair: Pair, version: number): Observable<Fetched> {
    const { auth, vault } = this.#options;
    const key = userKey(app.id, openId);
    const body = {
      grant_type: 'refresh_token',
      client_id: app.id,
      client_secret: app.secret,
      refresh_token: pair.refresh,
    };
    const giveBack$ = (fetched: Fetched): Observable<Fetched> =>
      andThen(vault.write(key, JSON.stringify(pair), version, keptMs), () => fetched);
    return andThen(auth.post(path, body), ({ exchange, plan }): Observable<Fetched> => {
      const next = pairOf(exchange, this.#options.clock.wall(), pair.consentedAtMs);
      if (next !== undefined) {
        const lifeMs = next.accessEndsAtMs - this.#options.clock.wall();
        return andThen(this.#put(key, next), () => ({ kind: 'token', value: next.access, lifeMs }));
      }
      const about = `app ${app.id}, refresh of user ${openId}`;
      if (exchange.kind === 'failed' && !exchange.sent) {
        return giveBack$({ kind: 'unavailable', askedMs: 0, message: `${about}: ${exchange.failure}` });
      }
      const verdict = classifyFeishu(exchange, plan, this.#options.clock.wall());
      const { kind, class: judged, code, askedMs } = verdict;
      if (kind === 'consent') return this.#end(app.id, openId, version, 'invalid_grant');
      // Somebody in between refused it: the platform never saw the refresh token.
      if (exchange.kind === 'answered' && code === undefined && verdict.mayHaveActed !== true) {
        return giveBack$({ kind: 'unavailable', askedMs, message: `${about}: HTTP ${exchange.status}` });
      }
      if (code === undefined || code === 0) {
        return this.#end(app.id, openId, version, 'refresh_outcome_unknown');
      }
      const message = `${about}: code ${code}`;
      // Of a user who has left, say: the same question gets the same answer until a person has done something.
      const final = judged === 'auth' || judged === 'permanent';
      return giveBack$(final ? { kind: 'refused', message, code } : { kind: 'unavailable', askedMs, message, code });
    });
  }

  /** A new pair is the only one that serves, whatever is there. */
  #put(key: string, pair: Pair): Observable<true> {
    return this.#options.vault.replace(key, JSON.stringify(pair), keptMs);
  }

  #end(app: string, openId: string, version: number, reason: Revocation): Observable<Fetched> {
    const ended: Ended = { reason, atMs: this.#options.clock.wall(), told: false };
    return andThen(this.#keepEnded(app, openId, ended, version), (ours) =>
      ours ? this.#tell(app, openId, ended, version + 1, false) : refused(consentAnew(app, openId, reason)),
    );
  }

  /** First it is kept that a consent has ended, then told, then kept that it was: a crash in between leaves it to the next. */
  #tell(app: string, openId: string, ended: Ended, version: number, again: boolean): Observable<Fetched> {
    const { reason, atMs } = ended;
    return andThen(this.#options.onRevoked({ app, openId, reason, atMs }, again), () =>
      andThen(this.#keepEnded(app, openId, { ...ended, told: true }, version), () =>
        refused(consentAnew(app, openId, reason)),
      ),
    );
  }

  #untold({ told, atMs }: Ended): boolean {
    return !told && this.#options.clock.wall() - atMs > tellLimitMs;
  }

  #keepEnded(app: string, openId: string, ended: Ended, version: number): Observable<boolean> {
    const kept: Pair = { access: '', accessEndsAtMs: 0, refresh: '', refreshEndsAtMs: 0, consentedAtMs: 0, ended };
    return this.#options.vault.write(userKey(app, openId), JSON.stringify(kept), version, keptMs);
  }
}

function consentAnew(app: string, openId: string, why: Revocation): string {
  return `the consent of user ${openId} to app ${app} is over (${why}): open /oauth/${app}/start`;
}

function refused(message: string): Observable<Fetched> {
  return of({ kind: 'refused', message });
}
