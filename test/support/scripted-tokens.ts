import { type Observable, of } from 'rxjs';

import type { TokenNeed, TokenReply, TokenSource } from '../../src/ports/token-source.ts';

/** Tokens that a test hands out: version n is `token-n`, a rejected current version makes the next one. */
export class ScriptedTokens implements TokenSource {
  version = 1;
  rejected: number[] = [];
  /** Answered instead of a token while set. */
  instead: Exclude<TokenReply, { kind: 'token' }> | undefined;

  get(_need: TokenNeed): Observable<TokenReply> {
    const { version } = this;
    return of(this.instead ?? { kind: 'token', token: { value: `token-${version}`, version } });
  }

  reject(_need: TokenNeed, version: number): void {
    this.rejected.push(version);
    if (version === this.version) this.version++;
  }
}
