import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import type { Cluster, Redis } from 'ioredis';

import { isNoScript } from './errors.ts';

/** A Lua script and the digest by which Redis knows it. */
export interface Script {
  readonly name: string;
  readonly source: string;
  readonly sha: string;
}

/** Reads `scripts/<name>.lua`, which the build copies beside the code. */
export function loadScript(name: string): Script {
  const source = readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8');
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}

/** Runs a script by its digest, by its text when the server does not know it. All keys must share one slot. */
export async function evaluate(
  client: Redis | Cluster,
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await client.evalsha(script.sha, keys.length, ...keys, ...args);
  } catch (error) {
    // The server refused before it ran anything, so running it now is the first time.
    if (!isNoScript(error)) throw error;
    return client.eval(script.source, keys.length, ...keys, ...args);
  }
}
