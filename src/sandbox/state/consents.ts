import { createHash } from 'node:crypto';

import type { SandboxClock } from '../world-ports.ts';

import type { Grant, Tokens } from './tokens.ts';

/** What a user is asked on the page of consent. */
export interface ConsentAsked {
  readonly app: string;
  readonly openId: string;
  readonly redirectUri: string;
  /** PKCE, S256; `undefined`: none. */
  readonly challenge: string | undefined;
}

/** Tokens of a user. */
export interface UserPair {
  readonly access: Grant;
  readonly refresh: string;
}

interface Code extends ConsentAsked {
  readonly untilMs: number;
  used: boolean;
}

interface Refresh {
  readonly app: string;
  readonly openId: string;
  readonly untilMs: number;
  /** `used`: its successor was given out; `revoked`: the consent is over. */
  state: 'live' | 'used' | 'revoked';
}

const codeLifeMs = 300_000;
/** How long a refresh token serves, milliseconds. */
export const refreshLifeMs = 7 * 86_400_000;
// So long after its end a code or a token is told from one that never was.
const rememberedMs = 3_600_000;

/**
 * Consents of users as the platform keeps them: a code serves once within five minutes, a refresh token once within seven
 * days, and both end with the consent. An hour after its end each is forgotten. Failures are codes of the platform.
 */
export class Consents {
  readonly #clock: SandboxClock;
  readonly #tokens: Tokens;
  readonly #newText: () => string;
  readonly #codes = new Map<string, Code>();
  readonly #refreshes = new Map<string, Refresh>();
  readonly #users = new Map<string, { readonly app: string; readonly openId: string; readonly untilMs: number }>();

  constructor(clock: SandboxClock, tokens: Tokens, newText: () => string) {
    this.#clock = clock;
    this.#tokens = tokens;
    this.#newText = newText;
  }

  /** The user has consented. @returns the code that the browser takes back */
  give(asked: ConsentAsked): string {
    this.#forget(this.#codes);
    const code = this.#newText();
    this.#codes.set(code, { ...asked, untilMs: this.#clock.now() + codeLifeMs, used: false });
    return code;
  }

  exchange(app: string, code: unknown, redirectUri: unknown, verifier: unknown): UserPair | number {
    const given = typeof code === 'string' ? this.#codes.get(code) : undefined;
    if (given === undefined) return 20_003;
    if (given.app !== app) return 20_024;
    if (given.used) return 20_065;
    if (given.untilMs <= this.#clock.now()) return 20_004;
    if (given.redirectUri !== redirectUri) return 20_071;
    if (given.challenge !== undefined && given.challenge !== challengeOf(verifier)) return 20_049;
    given.used = true;
    return this.#pair(app, given.openId);
  }

  refresh(app: string, token: unknown): UserPair | number {
    const known = typeof token === 'string' ? this.#refreshes.get(token) : undefined;
    if (known === undefined) return 20_038;
    if (known.app !== app) return 20_024;
    if (known.state !== 'live') return known.state === 'used' ? 20_073 : 20_064;
    if (known.untilMs <= this.#clock.now()) return 20_037;
    known.state = 'used';
    return this.#pair(app, known.openId);
  }

  /** Whose token it is, while it lives. */
  userOf(token: string): string | undefined {
    return this.#tokens.find(token) === undefined ? undefined : this.#users.get(token)?.openId;
  }

  /** The consent of a user is over. */
  revoke(app: string, openId: string): void {
    for (const refresh of this.#refreshes.values()) {
      if (refresh.app === app && refresh.openId === openId) refresh.state = 'revoked';
    }
    for (const [token, user] of this.#users) {
      if (user.app === app && user.openId === openId) this.#tokens.revoke({ token });
    }
  }

  #pair(app: string, openId: string): UserPair {
    const access = this.#tokens.grant({ id: app }, 'u');
    const refresh = `ur-${this.#newText()}`;
    this.#forget(this.#users);
    this.#forget(this.#refreshes);
    this.#users.set(access.token, { app, openId, untilMs: access.expiresAtMs });
    this.#refreshes.set(refresh, { app, openId, untilMs: this.#clock.now() + refreshLifeMs, state: 'live' });
    return { access, refresh };
  }

  /** What is over for long; the oldest stand first, for all of a kind live equally long. */
  #forget(kept: Map<string, { readonly untilMs: number }>): void {
    for (const [text, { untilMs }] of kept) {
      if (untilMs + rememberedMs > this.#clock.now()) return;
      kept.delete(text);
    }
  }
}

function challengeOf(verifier: unknown): string {
  return createHash('sha256').update(String(verifier)).digest('base64url');
}
