import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Runs a program to its end; rejects on a non-zero exit, a missing program, or after `timeoutMs`. */
export async function run(program: string, args: readonly string[], timeoutMs: number): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(program, args, { timeout: timeoutMs, maxBuffer: 64 * 2 ** 20 });
  return stdout + stderr;
}

/** Where fetched programs stay between test runs. */
const cacheFolder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'larkspur-test-services');

/**
 * A folder of the cache, made once. `fill` works in a folder beside it that gets its name only when all went well, so
 * half a download is never taken for a whole, also when several runs fill it at the same time.
 */
export async function cachedFolder(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cacheFolder, name);
  const complete = join(folder, '.complete');
  if (existsSync(complete)) return folder;
  mkdirSync(cacheFolder, { recursive: true });
  const work = mkdtempSync(join(cacheFolder, 'fetch-'));
  try {
    await fill(work);
    writeFileSync(join(work, '.complete'), '');
    // Another run may have finished first: then its folder is as good as ours.
    if (!existsSync(complete)) {
      rmSync(folder, { recursive: true, force: true });
      renameSync(work, folder);
    }
    return folder;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Runs a Maven goal, from the network first, then from what the machine already has. */
export async function maven(...args: readonly string[]): Promise<void> {
  try {
    await run('mvn', ['-q', '-B', '-ntp', ...args], 300_000);
  } catch (error) {
    await run('mvn', ['-o', '-q', '-B', '-ntp', ...args], 60_000).catch(() => {
      throw error;
    });
  }
}
