import { LarkspurError, messageOf } from '../../model/errors.ts';

/** One thing the doctor looked at. */
export interface Finding {
  readonly name: string;
  readonly state: 'ok' | 'warn' | 'bad';
  readonly message: string;
  /** What to do, for `warn` and `bad`. */
  readonly cure?: string;
}

/** All is well. */
export const ok = (name: string, message: string): Finding => ({ name, state: 'ok', message });
/** It works, but somebody should know. */
export const warn = (name: string, message: string, cure: string): Finding => ({ name, state: 'warn', message, cure });
/** It will not work. */
export const bad = (name: string, message: string, cure: string): Finding => ({ name, state: 'bad', message, cure });

/** A failure as a finding. */
export function badFrom(name: string, thrown: unknown, cure: string): Finding {
  const own = thrown instanceof LarkspurError ? thrown.cure : undefined;
  return bad(name, messageOf(thrown), own ?? cure);
}
