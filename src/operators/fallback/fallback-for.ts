import type { Call } from '../../model/call.ts';
import type { CachedAnswer } from '../../ports/answer-cache.ts';

import { type FallbackOptions, fallbackDefaults } from './options.ts';

/** An answer that is not live, and where it comes from. */
export type Fallback =
  { readonly source: 'cache'; readonly answer: CachedAnswer } | { readonly source: 'default'; readonly body: unknown };

/**
 * Which answer stands in for a live one, or `undefined` when there is none. What the call itself says comes first: its
 * own static answer, or `"cached"`. Then the upstream: the last good answer if it remembers them, else its static one.
 * A call that asks for `"cached"` with nothing remembered gets the upstream's static answer.
 */
export function fallbackFor(
  wish: Call['fallback'],
  upstream: FallbackOptions = fallbackDefaults,
  cached?: CachedAnswer,
): Fallback | undefined {
  if (upstream.off) return undefined;
  if (typeof wish === 'object') return { source: 'default', body: wish.default };
  if (cached !== undefined && (wish === 'cached' || upstream.cacheTtlMs > 0))
    return { source: 'cache', answer: cached };
  return upstream.default === undefined ? undefined : { source: 'default', body: upstream.default.body };
}
