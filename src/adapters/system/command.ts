import { execFile } from 'node:child_process';

import { LarkspurError } from '../../model/errors.ts';

const timeoutMs = 60_000;

/** Runs a program without a shell. Resolves when it ended with 0, rejects with `internal` otherwise, or after a minute. */
export function runCommand([program = '', ...words]: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(program, words, { timeout: timeoutMs, killSignal: 'SIGKILL' }, (error, _out, errors) => {
      if (error === null) resolve();
      else {
        const said = errors.trim().split('\n').at(-1) ?? '';
        reject(
          new LarkspurError('internal', `${program} failed: ${said === '' ? error.message : said}`, { cause: error }),
        );
      }
    });
  });
}
