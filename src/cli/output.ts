import { LarkspurError, messageOf } from '../model/errors.ts';

/** Writes a line to standard output. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a line to standard error: for what is not the result. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Writes a result as one line of JSON. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** Says on standard error what went wrong and what to do about it. */
export function reportFailure(thrown: unknown): void {
  note(`error: ${messageOf(thrown)}`);
  if (thrown instanceof LarkspurError && thrown.cure !== undefined) note(`cure: ${thrown.cure}`);
  // Anything else is a fault of ours: where it happened helps whoever reports it.
  if (!(thrown instanceof LarkspurError) && thrown instanceof Error) note(thrown.stack ?? '');
}
