import { randomUUID } from 'node:crypto';
import { closeSync, linkSync, mkdirSync, openSync, readFileSync, readSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { LarkspurError, messageOf } from '../../model/errors.ts';

/** Layout of the data folder. Grows when an older Larkspur could not read what a newer one wrote. */
const dataFormat = 1;

/** What a data folder says about itself. */
export interface DataFolder {
  readonly path: string;
  readonly clusterId: string;
}

/**
 * Opens a data folder, makes it when it is not there, and reads its format file.
 * Throws `data_folder_unusable` (no folder, not writable) or `data_folder_version`.
 */
export function openDataFolder(path: string): DataFolder {
  try {
    mkdirSync(path, { recursive: true });
    // A name of our own: processes that start together must not remove each other's trial.
    const trial = join(path, `.writable.${process.pid}`);
    writeFileSync(trial, '');
    unlinkSync(trial);
  } catch (error) {
    throw unusable(path, error);
  }
  return { path, clusterId: readFormat(path) ?? createFormat(path) };
}

/** The error for a folder that cannot be worked with. */
export function unusable(path: string, cause: unknown): LarkspurError {
  return new LarkspurError('data_folder_unusable', `data folder ${path} cannot be used: ${messageOf(cause)}`, {
    cure: 'give this user write permission and space there, or choose another folder with --data',
    cause,
  });
}

// Stands in the head of the first page of every LMDB file.
const lmdbMagic = Buffer.from([0xde, 0xc0, 0xef, 0xbe]);

/**
 * Looks at the head of a database file. LMDB maps whatever is there: a file of another kind ends the process without a word.
 * @throws {LarkspurError} `data_folder_unusable`
 */
export function checkDatabase(folder: string, file: string): void {
  const head = headOf(file);
  if (head.length === 0 || head.includes(lmdbMagic)) return;
  throw new LarkspurError('data_folder_unusable', `data folder ${folder} cannot be used: ${file} is no database`, {
    cure: 'put back a copy of the folder that is whole, or choose another folder with --data',
  });
}

/** The first bytes of a file, none when there is no file. */
function headOf(file: string): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    return Buffer.alloc(0);
  }
  const head = Buffer.alloc(64);
  try {
    return head.subarray(0, readSync(descriptor, head));
  } finally {
    closeSync(descriptor);
  }
}

function readFormat(path: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(join(path, 'format.json'), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw unusable(path, error);
  }
  const { format, clusterId } = parse(text);
  if (format === dataFormat && clusterId !== undefined) return clusterId;
  throw new LarkspurError(
    'data_folder_version',
    `data folder ${path} has format ${format ?? 'unknown'}, this Larkspur reads ${dataFormat}`,
    { cure: 'use the Larkspur that wrote it, or choose another folder with --data' },
  );
}

function parse(text: string): { format?: number | string; clusterId?: string } {
  try {
    const read = JSON.parse(text) as { format?: unknown; clusterId?: unknown };
    return {
      ...(typeof read.format === 'number' || typeof read.format === 'string' ? { format: read.format } : {}),
      ...(typeof read.clusterId === 'string' ? { clusterId: read.clusterId } : {}),
    };
  } catch {
    return {};
  }
}

function createFormat(path: string): string {
  const clusterId = randomUUID();
  const draft = join(path, `format.${process.pid}.draft`);
  try {
    writeFileSync(draft, `${JSON.stringify({ format: dataFormat, clusterId })}\n`);
    // A link is there whole or not at all, and only one process can make it.
    linkSync(draft, join(path, 'format.json'));
    return clusterId;
  } catch (error) {
    const other = readFormat(path);
    if (other === undefined) throw unusable(path, error);
    return other;
  } finally {
    unlinkSync(draft);
  }
}
