import type { Observable } from 'rxjs';

/** Which token a call needs. */
export interface TokenNeed {
  readonly app: string;
  readonly tenant: string | undefined;
  readonly as: 'tenant' | 'app' | { readonly user: string };
}

/** A token and its version. The value never goes into a log, a result or a dead letter. */
export interface Token {
  readonly value: string;
  readonly version: number;
}

/** Answer to a request for a token. */
export type TokenReply =
  | { readonly kind: 'token'; readonly token: Token }
  /** The platform cannot be asked at present: wait and ask again. */
  | { readonly kind: 'unavailable'; readonly waitMs: number; readonly message: string }
  /** No token is to be had without a person: wrong secret, app stopped, consent withdrawn. */
  | { readonly kind: 'refused'; readonly message: string };

/**
 * Tokens of the apps, fetched once for all who ask (single flight), refreshed ahead of their end.
 * `get` emits once, then completes; a cached token comes synchronously. `reject` names the version that the platform
 * refused: only the current version is dropped, so a hundred failing calls cause one refresh.
 */
export interface TokenSource {
  get(need: TokenNeed): Observable<TokenReply>;
  reject(need: TokenNeed, version: number): void;
}
