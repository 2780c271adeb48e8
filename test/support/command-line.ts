import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** How a command ended, and what it printed. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Starts the command line as a user does, in plain Node. */
export function startLarkspur(...args: string[]): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'], LARKSPUR_ADMIN_TOKEN: 'hunter2hunter2' },
  });
}

/** Runs it to its end. */
export function larkspur(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const child = startLarkspur(...args);
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.on('close', (code) => resolve({ code, out, err }));
  });
}
