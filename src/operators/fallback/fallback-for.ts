import type { Call } from '../../model/call.ts';
import type { CachedAnswer } from '../../ports/answer-cache.ts';

import { type FallbackOptions, fallbackDefaults } from './options.ts';

/** An answer that is not live, and where it comes from. */
export type Fallback =
  { readonly source: 'cache'; readonly answer: CachedAnswer } | { readonly source: 'default'; readonly body: unknown };

/**
 * Which answer stands in for a live one, or `undefined` when there is none. What the call itself says comes first: none
 * (`false`), its own static answer, or `"cached"`. Then the upstream, for reads, and for writes where its owner declared
 * that: the last good answer if it remembers them, else its static one. A call that asks for `"cached"` with nothing
 * remembered gets the upstream's static answer.
 */
export function fallbackFor(
  wish: Call['fallback'],
  upstream: FallbackOptions = fallbackDefaults,
  isRead = true,
  cached?: CachedAnswer,
): Fallback | undefined {
  if (upstream.off || wish === false) return undefined;
  if (typeof wish === 'object') return { source: 'default', body: wish.default };
  if (cached !== undefined && remembersFor(wish, upstream, isRead)) return { source: 'cache', answer: cached };
  const standsIn = isRead || upstream.writes || wish === 'cached';
  return upstream.default === undefined || !standsIn ? undefined : { source: 'default', body: upstream.default.body };
}

/** Whether good answers of such a call are remembered and may stand in for later ones. */
export function remembersFor(wish: Call['fallback'], upstream: FallbackOptions, isRead: boolean): boolean {
  if (upstream.off || wish === false || typeof wish === 'object') return false;
  return wish === 'cached' || (upstream.cacheTtlMs > 0 && (isRead || upstream.writes));
}
