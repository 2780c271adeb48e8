import type { Exchange } from '../model/outcome.ts';

import type { UpstreamRequest } from './upstream.ts';

/** The declared probe of an upstream: a light request that says whether calls may come back. Pure: sends nothing itself. */
export interface HealthProbe {
  readonly request: UpstreamRequest;
  /** A later answer is no good one, milliseconds. */
  readonly withinMs: number;
  /** Why an answer that came in time is no good one, in words without a secret, or `undefined` for a good one. */
  fault(answer: Extract<Exchange, { readonly kind: 'answered' }>): string | undefined;
}
