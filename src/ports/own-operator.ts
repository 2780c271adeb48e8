import type { OutcomeClass } from '../model/outcome.ts';

/** One attempt, as an operator of the upstream's owner sees it. */
export interface AttemptView {
  readonly id: string;
  readonly upstream: string;
  /** Bounded label of the API. */
  readonly api: string;
  readonly method: string;
  readonly path: string;
  /** 1 for the first attempt of the call. */
  readonly number: number;
}

/** What became of it. */
export interface AttemptOutcome {
  readonly class: OutcomeClass;
  /** Absent when no answer came. */
  readonly status?: number;
  /** The body's own code. */
  readonly code?: number;
  readonly ms: number;
}

/**
 * What a module of `use` exports by default: both or one of these. They are called in the process, so they must return at once;
 * one that throws, or whose promise rejects, is logged, and the call goes on without it.
 */
export interface OwnOperator {
  /** Right before an attempt, when nothing can stop it any more. Headers that it returns go with the request; a promise of them counts as a failure. */
  before?(attempt: AttemptView): Readonly<Record<string, string>> | undefined;
  /** Once the attempt is judged. Nobody waits for a promise that it returns. */
  after?(attempt: AttemptView, outcome: AttemptOutcome): void | Promise<void>;
}
