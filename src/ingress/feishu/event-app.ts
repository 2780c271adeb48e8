/** What the doors know of an app whose events they take. Two keys or tokens at once: the new one and the one it replaces. */
export interface EventApp {
  readonly id: string;
  /** Encrypt Keys, the current one first. With any, every delivery must be encrypted and signed. */
  readonly encryptKeys: readonly string[];
  /** Verification Tokens, the current one first: what vouches for a delivery when there is no Encrypt Key. */
  readonly verificationTokens: readonly string[];
}

/** Whether anything can vouch for what comes for this app. Without it its doors stay shut. */
export function canBeVerified({ encryptKeys, verificationTokens }: EventApp): boolean {
  return encryptKeys.length > 0 || verificationTokens.length > 0;
}
