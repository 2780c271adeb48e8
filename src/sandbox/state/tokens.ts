import type { SandboxClock } from '../world-ports.ts';

/** An app the sandbox knows. */
export interface SandboxApp {
  readonly id: string;
  readonly secret: string;
  /** Tenant the app is installed in. Default: `tenant_sandbox`. */
  readonly tenant?: string;
}

/** Whom a token speaks for. */
export interface Grant {
  readonly token: string;
  readonly app: string;
  readonly tenant: string;
  readonly expiresAtMs: number;
}

/** What the token endpoints answer: a token, or why not. */
export type Issued =
  { readonly ok: true; readonly grant: Grant } | { readonly ok: false; readonly code: 10003 | 10014 };

const reissueMs = 30 * 60_000;

/**
 * Tenant tokens of self-built apps. With 30 minutes or more left the same token is given again; with less a new one,
 * and both live to their own end. A revoked token is replaced at once.
 */
export class Tokens {
  readonly #clock: SandboxClock;
  readonly #lifeMs: number;
  readonly #secrets = new Map<string, SandboxApp>();
  readonly #isOpen: boolean;
  readonly #live = new Map<string, Grant>();
  readonly #newest = new Map<string, Grant>();
  readonly #newToken: () => string;
  issued = 0;

  /** @param apps who may ask; absent: an unknown app is registered with the secret it brings first */
  constructor(apps: readonly SandboxApp[] | undefined, lifeMs: number, clock: SandboxClock, newToken: () => string) {
    this.#clock = clock;
    this.#lifeMs = lifeMs;
    this.#newToken = newToken;
    this.#isOpen = apps === undefined;
    for (const app of apps ?? []) this.#secrets.set(app.id, app);
  }

  /** Whether an app has shown its secret. */
  admits(id: unknown, secret: unknown): boolean {
    return typeof this.#appOf(id, secret) === 'object';
  }

  issue(id: unknown, secret: unknown): Issued {
    const app = this.#appOf(id, secret);
    if (typeof app === 'number') return { ok: false, code: app };
    const newest = this.#newest.get(app.id);
    if (newest !== undefined && newest.expiresAtMs - this.#clock.now() >= reissueMs) return { ok: true, grant: newest };
    return { ok: true, grant: this.#create(app) };
  }

  /** Seconds a grant still lives, as `expire` in the answers. */
  secondsLeft(grant: Grant): number {
    return Math.floor((grant.expiresAtMs - this.#clock.now()) / 1_000);
  }

  /** Whom the token speaks for, if it is alive. */
  find(token: string): Grant | undefined {
    const grant = this.#live.get(token);
    if (grant === undefined || grant.expiresAtMs > this.#clock.now()) return grant;
    this.#live.delete(token);
    return undefined;
  }

  /**
   * Revokes one token, or all tokens of an app, or all.
   * @param isStuck the token endpoint goes on giving the dead token, as the platform does for up to 30 minutes
   */
  revoke(which: { readonly token?: string; readonly app?: string }, isStuck = false): number {
    let revoked = 0;
    for (const grant of this.#live.values()) {
      if ((which.token ?? grant.token) !== grant.token || (which.app ?? grant.app) !== grant.app) continue;
      this.#live.delete(grant.token);
      if (!isStuck && this.#newest.get(grant.app) === grant) this.#newest.delete(grant.app);
      revoked++;
    }
    return revoked;
  }

  #appOf(id: unknown, secret: unknown): SandboxApp | 10003 | 10014 {
    if (typeof id !== 'string' || typeof secret !== 'string' || id === '' || secret === '') return 10003;
    if (this.#isOpen && !this.#secrets.has(id)) this.#secrets.set(id, { id, secret });
    const app = this.#secrets.get(id);
    if (app === undefined) return 10003;
    return app.secret === secret ? app : 10014;
  }

  /**
   * A new token beside all others: of a user (`u`), of a store app (`a`), or of one of its tenants (`t`).
   * @param tenant default: the one that the app is installed in
   */
  grant({ id, tenant }: Pick<SandboxApp, 'id' | 'tenant'>, kind: 'a' | 't' | 'u'): Grant {
    const nowMs = this.#clock.now();
    for (const grant of this.#live.values()) if (grant.expiresAtMs <= nowMs) this.#live.delete(grant.token);
    const token = `${kind}-${this.#newToken()}`;
    const grant = {
      token,
      app: id,
      tenant: tenant ?? this.#secrets.get(id)?.tenant ?? 'tenant_sandbox',
      expiresAtMs: nowMs + this.#lifeMs,
    };
    this.#live.set(token, grant);
    this.issued++;
    return grant;
  }

  #create(app: SandboxApp): Grant {
    const grant = this.grant(app, 't');
    this.#newest.set(app.id, grant);
    return grant;
  }
}
