import { isReservedHeader } from '../model/call.ts';
import { messageOf } from '../model/errors.ts';
import type { Verdict } from '../model/outcome.ts';
import { isTree } from '../model/schema-words.ts';
import type { Logger } from '../ports/logger.ts';
import type { AttemptView, OwnOperator } from '../ports/own-operator.ts';

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const headerValue = /^[\x20-\x7e]{0,4096}$/;

/** The operators that the owner of an upstream adds. What they do wrong is logged, and changes no call. */
export class OwnOperators {
  readonly #operators: readonly OwnOperator[];
  readonly #log: Logger;
  #failures = 0;

  constructor(operators: readonly OwnOperator[], log: Logger) {
    this.#operators = operators;
    this.#log = log;
  }

  /** Headers that they add to the attempt that is about to begin; names in lower case. */
  headers(attempt: AttemptView): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const operator of this.#operators) {
      this.#guarded(attempt, 'before', () => {
        const added: unknown = operator.before?.(attempt);
        if (isPromise(added)) {
          // Nobody waits for it, but what nobody catches ends the process.
          added.then(undefined, () => undefined);
          throw new Error('before returned a promise: its headers must be there at once');
        }
        for (const [name, value] of Object.entries(added ?? {})) {
          if (!headerName.test(name) || isReservedHeader(name)) throw new Error(`${name} is no header to be added`);
          if (typeof value !== 'string' || !headerValue.test(value)) throw new Error(`the value of ${name} is no text`);
          headers[name.toLowerCase()] = value;
        }
      });
    }
    return headers;
  }

  /** The attempt is judged. */
  judged(attempt: AttemptView, { class: outcome, status, code }: Verdict, ms: number): void {
    const told = {
      class: outcome,
      ...(status === undefined ? {} : { status }),
      ...(code === undefined ? {} : { code }),
      ms,
    };
    for (const operator of this.#operators) this.#guarded(attempt, 'after', () => operator.after?.(attempt, told));
  }

  #guarded(attempt: AttemptView, point: 'before' | 'after', run: () => unknown): void {
    const failed = (error: unknown): void => this.#failed(attempt, point, error);
    try {
      const came = run();
      if (isPromise(came)) came.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  #failed({ upstream }: AttemptView, point: 'before' | 'after', error: unknown): void {
    // At the 1st, the 10th, the 100th ...: one that always fails would fill the log.
    if (!Number.isInteger(Math.log10(++this.#failures))) return;
    const fields = { upstream, point, failures: this.#failures, error: messageOf(error) };
    this.#log.error(fields, 'an operator of use failed; the call goes on without it');
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return isTree(value) && typeof value['then'] === 'function';
}
