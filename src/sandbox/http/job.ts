import type { Marker } from '../ledger/marker.ts';
import type { Api } from '../settings.ts';
import type { Grant } from '../state/tokens.ts';

import type { Answer } from './answer.ts';

/** A request as an API sees it. */
export interface ApiCall {
  readonly grant: Grant;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: unknown;
}

/** What an accepted request will do. */
export interface Job {
  /** Chat or message whose own limit counts. */
  readonly chat?: string;
  /** The caller's idempotency key, and the answer while an earlier one is under way. */
  readonly once?: { readonly key: string; readonly inFlight: Answer };
  /** Time it takes on top of the sandbox's own latency. */
  readonly delayMs?: number;
  /** Present when state changes: how the ledger will know it. */
  readonly marker?: Marker;
  /** Changes the sandbox's own state. `seq` is the number of the effect. */
  act?(seq: number): void;
  /** The answer, the first time and each time it is replayed. */
  answer(seq: number, atMs: number): Answer;
}

/** One API: a check that ends in a job or in a failure. */
export interface Endpoint {
  readonly api: Api;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly accept: (call: ApiCall) => Job | Answer;
}

/** Tells a failure from a job. */
export function isAnswer(accepted: Job | Answer): accepted is Answer {
  return 'status' in accepted;
}
