import { LarkspurError } from '../model/errors.ts';

import { type Path, pathText } from './tree.ts';

/** One thing that is wrong with the configuration. Holds no secret. */
export interface Mistake {
  /** Empty for the file as a whole. */
  readonly path: Path;
  /** What is wrong and what is allowed. */
  readonly message: string;
}

/** A mistake as a line of text. @param source where the value was written, if that is known */
export function mistakeText(mistake: Mistake, source?: string): string {
  const where = source === undefined || source === 'default' ? '' : ` (${source})`;
  return mistake.path.length === 0 ? mistake.message : `${pathText(mistake.path)}${where}: ${mistake.message}`;
}

/** The error that lists all mistakes, one a line. @param what the file, in words @param cure what to do then */
export function configInvalid(
  lines: readonly string[],
  what = 'the configuration',
  cure = 'correct the lines above; `larkspur config check` lists what is left',
): LarkspurError {
  const count = lines.length === 1 ? '1 mistake' : `${lines.length} mistakes`;
  const text = lines.map((line) => `  - ${line}`).join('\n');
  return new LarkspurError('config_invalid', `${what} has ${count}\n${text}`, { cure, cause: lines });
}

/** The lines of a {@link configInvalid} error; none for any other. */
export function mistakesOf(thrown: unknown): readonly string[] {
  if (!(thrown instanceof LarkspurError) || thrown.code !== 'config_invalid') return [];
  const { cause } = thrown;
  return Array.isArray(cause) ? cause.map(String) : [thrown.message];
}
