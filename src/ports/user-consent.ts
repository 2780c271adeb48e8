import type { Observable } from 'rxjs';

/** What came of a consent. */
export type Consented =
  | { readonly kind: 'kept'; readonly openId: string }
  /** The platform refuses it: the code is wrong, used or too old. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Nobody knows, or not now: the user begins anew. */
  | { readonly kind: 'unavailable'; readonly message: string };

/** What the page of consent is asked for. */
export interface ConsentRequest {
  readonly state: string;
  /** PKCE, S256. */
  readonly challenge: string;
}

/** Gets the consent of users, so that calls can be made as them. */
export interface UserConsent {
  /** Where a user consents; `undefined`: the app asks for none. */
  pageFor(app: string, request: ConsentRequest): string | undefined;
  /** Makes tokens of what the page gave, and keeps them. Emits once, then completes. */
  complete(app: string, code: string, verifier: string): Observable<Consented>;
  /**
   * The platform says that a user's consent was over at `atMs`, epoch milliseconds, if it says when; one that was given
   * since then goes on. Emits once it is noted and told, then completes.
   */
  revoke(app: string, openId: string, atMs: number | undefined): Observable<void>;
}
