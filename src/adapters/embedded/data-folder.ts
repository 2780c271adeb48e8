import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { LarkspurError, messageOf } from '../../model/errors.ts';

import { damageOf } from './database-check.ts';

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
    makeFolder(resolve(path));
    // A name of our own: processes that start together must not remove each other's trial.
    const trial = join(path, `.writable.${process.pid}`);
    writeFileSync(trial, '');
    unlinkSync(trial);
  } catch (error) {
    throw unusable(path, error);
  }
  return { path, clusterId: readFormat(path) ?? createFormat(path) };
}

/** Node's own way of making all folders of a path never returns where one cannot be made, as under /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  try {
    mkdirSync(path);
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}

/** The error for a folder that cannot be worked with. */
export function unusable(path: string, cause: unknown): LarkspurError {
  return new LarkspurError('data_folder_unusable', `data folder ${path} cannot be used: ${messageOf(cause)}`, {
    cure: 'give this user write permission and space there, or choose another folder with --data',
    cause,
  });
}

/**
 * Looks at a database file before it is opened.
 * @throws {LarkspurError} `data_folder_damaged`
 */
export function checkDatabase(folder: string, file: string): void {
  const damage = damageOf(file);
  if (damage === undefined) return;
  throw new LarkspurError('data_folder_damaged', `data folder ${folder} is damaged: ${file}: ${damage}`, {
    cure: 'put back a copy of the folder that is whole, or choose another folder with --data; nothing was changed in it',
  });
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
  const newer = typeof format === 'number' && format > dataFormat;
  throw new LarkspurError(
    'data_folder_version',
    `data folder ${path} has format ${format ?? 'unknown'}, this Larkspur reads ${dataFormat}`,
    {
      cure: newer
        ? 'a newer Larkspur wrote it: start that one, or choose another folder with --data'
        : 'use the Larkspur that wrote it, or choose another folder with --data',
    },
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
