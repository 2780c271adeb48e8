import type { Exchange, TransportFailure, Verdict } from './outcome.ts';

/** Bounded words for metrics. */
const errorTypes = {
  refused: 'refused',
  dns: 'dns',
  'connect-timeout': 'connect_timeout',
  tls: 'tls',
  certificate: 'certificate',
  'attempt-timeout': 'timeout',
  reset: 'reset',
  'response-too-large': 'response_too_large',
  'bad-response': 'bad_response',
  aborted: 'aborted',
} as const satisfies Record<TransportFailure, string>;

/**
 * Judges an attempt that brought no complete answer. Nothing sent: safe to repeat, but for a certificate that a person
 * must look at and a request that cannot be written. Sent: the outcome is unknown, but for an answer that came and was
 * too large to take in.
 */
export function transportVerdict(exchange: Extract<Exchange, { kind: 'failed' }>): Verdict {
  const { failure, sent, message } = exchange;
  const verdict = {
    kind: failure === 'attempt-timeout' || failure === 'connect-timeout' ? 'timeout' : 'transport',
    message,
    askedMs: 0,
    errorType: errorTypes[failure],
  } as const;
  if (failure === 'certificate' || failure === 'response-too-large') return { ...verdict, class: 'permanent' };
  if (sent) return { ...verdict, class: 'ambiguous', mayHaveActed: true };
  return { ...verdict, class: failure === 'bad-response' ? 'permanent' : 'retryable' };
}
