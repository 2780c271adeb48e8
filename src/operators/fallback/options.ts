/** What an upstream's owner declared as answer when there is no live one. */
export interface FallbackOptions {
  /** How long a good answer may stand in for a later one, milliseconds; 0: answers are not remembered. */
  readonly cacheTtlMs: number;
  /** The static answer, or `undefined` for none. */
  readonly default: { readonly body: unknown } | undefined;
  /** Whether both also stand in for calls that change something; else for reads alone. */
  readonly writes: boolean;
  /** No answer but the live one, whatever a call wishes. */
  readonly off: boolean;
}

/** Nothing declared: a call's own wish decides. */
export const fallbackDefaults: FallbackOptions = { cacheTtlMs: 0, default: undefined, writes: false, off: false };
