import { execFile, type ExecFileException } from 'node:child_process';

import { LarkspurError } from '../../model/errors.ts';

const timeoutMs = 60_000;

/**
 * Runs a program without a shell. Resolves when it ended with 0, rejects with `internal` otherwise, or after a minute.
 * The error never repeats the words that the program was given.
 * @param errors `quoted`: the last line that the program wrote to its stderr stands in the error; `silent`: it does not
 */
export function runCommand(
  [program = '', ...words]: readonly string[],
  errors: 'quoted' | 'silent' = 'quoted',
): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(program, words, { timeout: timeoutMs, killSignal: 'SIGKILL' }, (error, _out, wrote) => {
      if (error === null) {
        resolve();
        return;
      }
      const said = errors === 'silent' ? '' : (wrote.trim().split('\n').at(-1) ?? '');
      reject(new LarkspurError('internal', `the command failed: ${endOf(error)}${said === '' ? '' : `: ${said}`}`));
    });
  });
}

function endOf({ code, killed, signal }: ExecFileException): string {
  if (killed === true) return `no end within ${timeoutMs / 1_000} s`;
  if (typeof code === 'number') return `exit code ${code}`;
  return String(code ?? signal);
}
