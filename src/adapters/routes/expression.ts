import jsonata from 'jsonata';

import { LarkspurError, messageOf } from '../../model/errors.ts';

const mostSteps = 100_000;

/** A compiled jsonata expression. */
export interface Expression {
  /** Rejects with what went wrong in it. The result is plain JSON, `undefined` for nothing. */
  evaluate(input: unknown): Promise<unknown>;
}

/**
 * Compiles an expression. One that goes on for ever is stopped after a hundred thousand steps.
 * @throws {LarkspurError} `config_invalid` with the place of a mistake in it
 */
export function compileExpression(text: string): Expression {
  let compiled: jsonata.Expression;
  try {
    compiled = jsonata(text);
  } catch (error) {
    throw new LarkspurError('config_invalid', `the expression ${shortened(text)} is not jsonata: ${wordsOf(error)}`, {
      cure: 'jsonata.org has the language; `larkspur routes test` tries a route on an event.',
    });
  }
  let running = 0;
  let steps = 0;
  const count = (): void => {
    if (++steps > mostSteps) throw new Error(`takes more than ${mostSteps} steps`);
  };
  // Its types know names only; the hook is a symbol.
  compiled.assign(Symbol.for('jsonata.__evaluate_entry') as unknown as string, count);
  return {
    evaluate: async (input) => {
      if (running++ === 0) steps = 0;
      try {
        const value: unknown = await compiled.evaluate(input);
        const json = JSON.stringify(value) as string | undefined;
        return json === undefined ? undefined : (JSON.parse(json) as unknown);
      } catch (error) {
        throw new Error(wordsOf(error), { cause: error });
      } finally {
        running--;
      }
    },
  };
}

// Errors of jsonata are objects with a message that are no Error.
function wordsOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message).slice(0, 300);
  return messageOf(error).slice(0, 300);
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}
