import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { Cluster, type Redis } from 'ioredis';

import { messageOf } from '../../model/errors.ts';

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

/** For how many replicas to wait after a write, and for how long at most. */
export interface Replication {
  readonly replicas: number;
  readonly waitMs: number;
}

/**
 * Runs a script like {@link evaluate} and waits until replicas have what it wrote. Both go over one connection, which
 * serves nobody else meanwhile: give it one of its own.
 *
 * @returns the script's reply, and how many replicas had it in time
 */
export async function evaluateReplicated(
  client: Redis | Cluster,
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
  { replicas, waitMs }: Replication,
): Promise<{ readonly reply: unknown; readonly replicas: number }> {
  const send = async (by: 'evalsha' | 'eval', text: string) => {
    const pipeline = client.pipeline()[by](text, keys.length, ...keys, ...args);
    const [ran, waited] = (await pipeline.wait(replicas, waitMs).exec()) ?? [];
    const error = ran?.[0] ?? waited?.[0];
    if (error != null) throw error;
    return { reply: ran?.[1], replicas: Number(waited?.[1]) };
  };
  try {
    return await send('evalsha', script.sha).catch((error: unknown) => {
      if (!isNoScript(error)) throw error;
      return send('eval', script.source);
    });
  } catch (error) {
    // Only commands on their own follow a slot to another node.
    if (client instanceof Cluster && /^(MOVED|ASK)\b/.test(messageOf(error))) client.refreshSlotsCache();
    throw error;
  }
}
