import type { Call } from './model/call.ts';
import { LarkspurError } from './model/errors.ts';
import type { Result } from './model/result.ts';
import { sendCall } from './runtime/call.ts';

/** Where calls are handed in. */
export interface ClientOptions {
  /** Address of an ingress, e.g. `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Bearer token, where the ingress asks for one. */
  readonly token?: string;
}

/** How one call is handed in. */
export interface CallOptions {
  /** Record key: calls with one key go in order. Default: the call's `orderingKey`, else none. */
  readonly key?: string;
  /** How long to wait for the answer, milliseconds; default 30,000. The call goes on when the wait is over. */
  readonly waitMs?: number;
}

/** Hands calls in over HTTP and waits for their results. */
export interface Client {
  /**
   * Resolves with the result. Rejects with a `LarkspurError`: `not_found` when no ingress answers, `timed_out` when the
   * wait is over and the call goes on, `call_invalid` for a call that was refused, `no_answer` for one that ended
   * without an answer.
   */
  call(call: Call, options?: CallOptions): Promise<Result>;
}

const codes = { 400: 'call_invalid', 413: 'call_invalid', 504: 'timed_out' } as const;

/** A client of one ingress. Holds no connection of its own. */
export function createClient({ url, token }: ClientOptions): Client {
  return {
    async call(call, { key, waitMs = 30_000 } = {}) {
      const { status, answer } = await sendCall(
        { url, token },
        { body: JSON.stringify(call), key, wait: `${waitMs}ms` },
      );
      if (status === 200) return answer as Result;
      const known = Object.entries(codes).find(([at]) => Number(at) === status);
      throw new LarkspurError(known?.[1] ?? 'no_answer', `the ingress answered ${status}: ${JSON.stringify(answer)}`, {
        retryable: status >= 500,
      });
    },
  };
}
