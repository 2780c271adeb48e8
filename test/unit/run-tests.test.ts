import { execFile } from 'node:child_process';
import { join } from 'node:path';

import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

it('npm test passes no misspelt name of a project over, beside how many good ones it may stand', async () => {
  const program = ['--import', 'tsx', 'test/support/run-tests.ts'];
  // No test has such a name, so that nothing runs where the name is passed over.
  const args = ['--only', 'unit,servces', '--only', 'dockr', 'no-such-test'];
  const { code, err } = await new Promise<{ code: unknown; err: string }>((resolve) => {
    execFile(process.execPath, [...program, ...args], { cwd: root }, (error, _out, err) =>
      resolve({ code: error?.code, err }),
    );
  });

  expect(err).toBe('there is no project servces, dockr; known: unit, services, docker, faults\n');
  expect(code).toBe(2);
});
