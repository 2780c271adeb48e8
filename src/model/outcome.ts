/** What the dispatcher must do about an answer. Closed: every switch over it is exhaustive. */
export type OutcomeClass =
  'success' | 'duplicate' | 'rate-limited' | 'quota' | 'retryable' | 'auth' | 'ambiguous' | 'permanent';

/** How an attempt failed when no complete answer came. `unsent`: no byte of the request can have left this host. */
export type TransportFailure =
  | 'refused'
  | 'dns'
  | 'connect-timeout'
  | 'tls'
  | 'certificate'
  | 'attempt-timeout'
  | 'reset'
  | 'response-too-large'
  | 'bad-response'
  | 'aborted';

/** What came of one attempt, before anybody judged it. */
export type Exchange =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Names in lower case. */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  | {
      readonly kind: 'failed';
      readonly failure: TransportFailure;
      /** Whether the upstream may have seen the request. */
      readonly sent: boolean;
      readonly message: string;
    };

/** The bytes of an answer, for the result. */
export interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: Buffer;
}

/** The finer kind of a class, where the dispatcher acts on it. */
export type VerdictKind =
  | 'ok'
  | 'rate'
  | 'internal'
  | 'conflict'
  | 'wait'
  | 'token'
  | 'credential'
  | 'consent'
  | 'permission'
  | 'quota'
  | 'timeout'
  | 'partial'
  | 'duplicate'
  | 'gone'
  | 'recipient'
  | 'invalid'
  | 'transport';

/** One attempt, judged. Every (status, code, error) maps to exactly one. */
export interface Verdict {
  readonly class: OutcomeClass;
  readonly kind: VerdictKind;
  /** HTTP status, absent when no answer came. */
  readonly status?: number;
  /** The body's own code (Feishu's `code`), absent when there is none. */
  readonly code?: number;
  /** Log id of the upstream, for its support. */
  readonly logId?: string;
  /** What happened, for people: never holds a secret. */
  readonly message: string;
  /** Wait that the server asked for, in milliseconds, or 0. */
  readonly askedMs: number;
  /** For refusals: the limit key of the plan that refused, where it is not the first. */
  readonly limitKey?: string;
  /** Bounded word for metrics, e.g. `rate_limited`, `timeout`, `reset`, `server_error`; never a code or a message. */
  readonly errorType: string;
  /**
   * The attempt failed and may yet have taken effect: a repeat needs a repeatable call, or the platform's key inside its
   * window, whatever the class. Absent: it had none.
   */
  readonly mayHaveActed?: true;
}
