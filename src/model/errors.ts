/** Every code that a {@link LarkspurError} can carry. Codes are stable: scripts and alerts may match them. */
export const errorCodes = [
  'config_invalid',
  'call_invalid',
  'bad_request',
  'unauthorized',
  'forbidden',
  'conflict',
  'rate_limited',
  'no_answer',
  'upstream_unavailable',
  'data_folder_damaged',
  'data_folder_locked',
  'data_folder_unusable',
  'data_folder_version',
  'store_full',
  'kafka_unavailable',
  'kafka_denied',
  'kafka_consumer_failed',
  'topic_missing',
  'topic_mismatch',
  'record_too_large',
  'sink_unavailable',
  'redis_unavailable',
  'redis_misconfigured',
  'rules_unavailable',
  'auth_failed',
  'auth_unavailable',
  'port_in_use',
  'not_found',
  'timed_out',
  'internal',
] as const;

/** Closed list of error codes. */
export type ErrorCode = (typeof errorCodes)[number];

/**
 * The one error class of the house. `message` says what happened and where, `cure` what to do about it.
 * `retryable` tells whether the same step may work later without a change by a person.
 */
export class LarkspurError extends Error {
  readonly code: ErrorCode;
  readonly cure: string | undefined;
  readonly retryable: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly cure?: string; readonly retryable?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'LarkspurError';
    this.code = code;
    this.cure = options.cure;
    this.retryable = options.retryable ?? false;
  }
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
