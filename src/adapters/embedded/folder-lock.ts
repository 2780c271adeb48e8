import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

import type { RootDatabase } from 'lmdb';

import { LarkspurError } from '../../model/errors.ts';

/** Who holds a data folder. */
interface Owner {
  readonly pid: number;
  /** Tells a process from a later one with the same pid; absent where the system does not say. */
  readonly startedAt: string | undefined;
  /** Host and process namespace: pids mean something only inside. */
  readonly where: string;
  readonly renewedMs: number;
}

const ownerKey = Buffer.from('owner');
/** An owner that another host or container wrote counts as alive for so long after its last sign of life. */
const foreignOwnerMs = 15_000;

// Once: who changes the name of its host is the same owner.
const here = whereWeAre();

/**
 * Takes the folder for this process or throws `data_folder_locked` naming who has it. The owner stands inside the
 * database, so looking and taking are one write transaction: LMDB's own lock survives a killed holder, and of two
 * processes that find the owner dead only one gets the folder.
 */
export function takeFolder(env: RootDatabase<Buffer, Buffer>, path: string): void {
  env.transactionSync(() => {
    const bytes = env.get(ownerKey);
    const owner = bytes === undefined ? undefined : (JSON.parse(bytes.toString()) as Owner);
    if (owner !== undefined && isAlive(owner)) {
      throw new LarkspurError(
        'data_folder_locked',
        `data folder ${path} is in use by process ${owner.pid} on ${owner.where}`,
        {
          cure: `stop that process (kill ${owner.pid}), or choose another folder with --data`,
        },
      );
    }
    env.putSync(ownerKey, ownRecord());
  });
}

/**
 * Throws `data_folder_locked` when the folder is no longer this process's: frozen for so long that an owner elsewhere took it
 * for dead. Inside a write transaction nobody can take it between the look and the write.
 */
export function keepFolder(env: RootDatabase<Buffer, Buffer>, path: string): void {
  const bytes = env.get(ownerKey);
  const owner = bytes === undefined ? undefined : (JSON.parse(bytes.toString()) as Owner);
  if (owner?.pid === process.pid && owner.where === here) return;
  const who = owner === undefined ? 'another process' : `process ${owner.pid} on ${owner.where}`;
  throw new LarkspurError(
    'data_folder_locked',
    `data folder ${path} was taken over by ${who} while this one stood still`,
    {
      cure: 'nothing was lost: the other one goes on from what was written; this one has to end',
    },
  );
}

/** Shows a sign of life. An asynchronous write, which LMDB flushes to disk in a thread, and all before it with it. */
export function renewFolder(env: RootDatabase<Buffer, Buffer>): Promise<void> {
  return flushed(env.put(ownerKey, ownRecord()));
}

/** Gives the folder back; flushed to disk like {@link renewFolder}. */
export function leaveFolder(env: RootDatabase<Buffer, Buffer>): Promise<void> {
  return flushed(env.remove(ownerKey));
}

/** Waits for an asynchronous write of LMDB. */
async function flushed(write: Promise<boolean>): Promise<void> {
  try {
    await write;
  } catch (error) {
    // The driver hangs a second rejected promise on its error; left alone it would end the process.
    if (error instanceof Error && 'commitError' in error) await Promise.allSettled([error.commitError]);
    throw error;
  }
}

function ownRecord(): Buffer {
  const owner: Owner = {
    pid: process.pid,
    startedAt: startOf(process.pid),
    where: here,
    renewedMs: Date.now(),
  };
  return Buffer.from(JSON.stringify(owner));
}

function isAlive(owner: Owner): boolean {
  if (owner.where !== here) return Date.now() - owner.renewedMs < foreignOwnerMs;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // EPERM: it lives, under another user.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  const startedAt = startOf(owner.pid);
  return startedAt === undefined || owner.startedAt === undefined || startedAt === owner.startedAt;
}

function whereWeAre(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** Start of a process in clock ticks since boot, from Linux' /proc; `undefined` elsewhere. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold blanks; start time is field 22, the 20th after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'zombie' : fields[19];
  } catch {
    return undefined;
  }
}
