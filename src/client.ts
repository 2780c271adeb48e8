import type { Call } from './model/call.ts';
import { type ErrorCode, errorCodes, LarkspurError } from './model/errors.ts';
import type { Result } from './model/result.ts';
import { isTree, type Tree } from './model/schema-words.ts';
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
   * Resolves with the result. Rejects with a `LarkspurError`: `config_invalid` for an address that is none, `not_found` when
   * no ingress answers, `call_invalid` for a call that was refused, `timed_out` when the wait is over and the call goes on,
   * `no_answer` for one that ended without an answer, else with the code that the ingress gives. `retryable` only where the
   * same call handed in again acts once.
   */
  call(call: Call, options?: CallOptions): Promise<Result>;
}

// 202: stored, and too many clients wait already.
const codes: Readonly<Record<number, ErrorCode>> = {
  ...{ 202: 'timed_out', 504: 'timed_out' },
  ...{ 400: 'call_invalid', 413: 'call_invalid', 422: 'call_invalid' },
};

/** A client of one ingress. Holds no connection of its own. */
export function createClient({ url, token }: ClientOptions): Client {
  return {
    async call(call, { key, waitMs = 30_000 } = {}) {
      const { status, answer } = await sendCall(
        { url, token },
        { body: JSON.stringify(call), key, wait: `${waitMs}ms` },
      );
      if (status === 200) return answer as Result;
      const problem = isTree(answer) ? answer : {};
      const code = codes[status] ?? errorCodes.find((one) => one === problem['code']) ?? 'internal';
      const told = `the ingress answered ${status}: ${JSON.stringify(answer)}`;
      throw new LarkspurError(code, told, { retryable: isRetryable(status, code, problem, call) });
    },
  };
}

function isRetryable(status: number, code: ErrorCode, problem: Tree, call: Call): boolean {
  if (status === 429) return true;
  if (code === 'no_answer') return problem['repeatable'] === true;
  // It may be stored: a repeat counts once only under an id that the caller chose.
  return call.id !== undefined && (status === 202 || status >= 500);
}
