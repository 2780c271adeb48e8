import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cwd = fileURLToPath(new URL('../../../', import.meta.url));

/** Runs a program at the root of the repository and gives what it printed. */
export async function sh(env: NodeJS.ProcessEnv, program: string, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(program, args, {
    cwd,
    env: { ...process.env, ...env },
    maxBuffer: 64 * 1_048_576,
  });
  return stdout + stderr;
}

/** The words that start compose here, or why nothing does. */
export async function findCompose(): Promise<{ readonly compose: readonly string[] } | { readonly missing: string }> {
  const answers = async (...words: readonly string[]): Promise<boolean> => {
    const [program = '', ...args] = words;
    return run(program, args).then(
      () => true,
      () => false,
    );
  };
  if (!(await answers('docker', 'version'))) return { missing: 'no Docker engine answers (docker version)' };
  if (await answers('docker', 'compose', 'version')) return { compose: ['docker', 'compose'] };
  if (await answers('docker-compose', 'version')) return { compose: ['docker-compose'] };
  return { missing: 'neither docker compose nor docker-compose is installed' };
}

/** A port of this machine that is free at present. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** Longest wait for one answer: of a port that is published before anybody listens behind it, `fetch` may never get one. */
const answerMs = 10_000;

/** Asks until the answer is good; fails with the last one after `limitMs`. A question without an answer is asked again. */
export async function until<T>(
  what: string,
  limitMs: number,
  ask: () => Promise<T>,
  good: (answer: T) => boolean,
): Promise<T> {
  const endMs = Date.now() + limitMs;
  for (;;) {
    const late = new AbortController();
    const none = setTimeout(answerMs, new Error(`no answer in ${answerMs} ms`), { signal: late.signal });
    const answer = await Promise.race([ask(), none]).catch((error: unknown) => error);
    late.abort();
    if (!(answer instanceof Error) && good(answer as T)) return answer as T;
    if (Date.now() > endMs) throw new Error(`${what} did not come about in ${limitMs} ms`, { cause: answer });
    await setTimeout(500);
  }
}
