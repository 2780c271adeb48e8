import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

// Layout of LMDB's file (data version 2, 64 bit, little endian), as far as its trees go. A page: number, transaction,
// flags and bounds in a head of 24 bytes, then the offsets of its nodes. Two meta pages in front name the roots.
const head = 24;
const magic = 0xbeefc0de;
const dataVersion = 2;
const flagOf = { branch: 1, leaf: 2, overflow: 4 } as const;
const nodeIs = { big: 1, tree: 2 } as const;
const noRoot = 0xffff_ffff_ffff_ffffn;

/** What the check stops at, some tenths of a second. Of a value with pages of its own only the head is read. */
const mostPages = 65_536;

interface Meta {
  readonly pageBytes: number;
  readonly transaction: bigint;
  readonly bootId: bigint;
  readonly trees: readonly Tree[];
}

interface Tree {
  readonly root: bigint;
  /** Levels, the root's included. */
  readonly depth: number;
}

/**
 * Looks for damage in a database file before LMDB maps it: LMDB trusts what it maps, and a page that is missing or was
 * overwritten ends the process without a word. Walks all trees and checks that each page is the one it should be.
 * Returns what is wrong, or `undefined`. A file that somebody writes to at present counts as sound: its lock decides.
 */
export function damageOf(file: string): string | undefined {
  if (endianness() === 'BE') return undefined;
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    return undefined;
  }
  try {
    const [newest, ...older] = metasOf(descriptor);
    if (newest === undefined) return isEmpty(descriptor) ? undefined : 'it is no database of this machine and version';
    // After the machine went down, LMDB goes back to what was flushed to the disk: the newest pages may be missing.
    const candidates = newest.bootId === bootId() ? [newest] : [newest, ...older];
    const damages = candidates.map((meta) => walk(descriptor, meta));
    if (damages.includes(undefined)) return undefined;
    return metasOf(descriptor)[0]?.transaction === newest.transaction ? damages[0] : undefined;
  } finally {
    closeSync(descriptor);
  }
}

function isEmpty(descriptor: number): boolean {
  return fstatSync(descriptor).size === 0;
}

/** What the file says of itself, newest first: two meta pages in turn, and one for what was flushed to the disk. */
function metasOf(descriptor: number): Meta[] {
  const first = bytesAt(descriptor, 0);
  if (first === undefined || !isMeta(first)) return [];
  const pageBytes = first.readUInt32LE(head + 24);
  if (pageBytes < 1_024 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0) return [];
  const second = bytesAt(descriptor, pageBytes);
  const flushed = bytesAt(descriptor, pageBytes / 2);
  if (second === undefined || flushed === undefined || !isMeta(second)) return [];
  return [first, second, flushed]
    .map((bytes): Meta => ({
      pageBytes,
      transaction: bytes.readBigUInt64LE(head + 128),
      bootId: bytes.readBigInt64LE(head + 136),
      trees: [treeAt(bytes, head + 24), treeAt(bytes, head + 72)],
    }))
    .filter(({ transaction }) => transaction > 0n)
    .sort((a, b) => (a.transaction < b.transaction ? 1 : -1));
}

function bytesAt(descriptor: number, at: number): Buffer | undefined {
  const bytes = Buffer.alloc(256);
  return readSync(descriptor, bytes, 0, bytes.length, at) < bytes.length ? undefined : bytes;
}

function isMeta(bytes: Buffer): boolean {
  return bytes.readUInt32LE(head) === magic && (bytes.readUInt32LE(head + 4) & 0xffff) === dataVersion;
}

function treeAt(bytes: Buffer, at: number): Tree {
  return { depth: bytes.readUInt16LE(at + 6), root: bytes.readBigUInt64LE(at + 40) };
}

function walk(descriptor: number, { pageBytes, trees }: Meta): string | undefined {
  const fileBytes = fstatSync(descriptor).size;
  const page = Buffer.alloc(pageBytes);
  const overflow = Buffer.alloc(head);
  const open = trees.filter(({ root }) => root !== noRoot);
  for (let seen = 0; seen < mostPages; seen++) {
    const next = open.pop();
    if (next === undefined) return undefined;
    const at = Number(next.root) * pageBytes;
    if (at + pageBytes > fileBytes) return `page ${next.root} lies beyond its end`;
    readSync(descriptor, page, 0, pageBytes, at);
    const kind = next.depth > 1 ? flagOf.branch : flagOf.leaf;
    if (!isPage(page, next.root, kind)) return `page ${next.root} was overwritten`;
    const nodes = page.readUInt16LE(20) >> 1;
    for (let i = 0; i < nodes; i++) {
      const found = kind === flagOf.branch ? childOf(page, i, next.depth) : valueOf(page, i);
      if (found === 'damaged') return `page ${next.root} was overwritten`;
      if (found === 'inside') continue;
      if ('depth' in found) {
        open.push(found);
        continue;
      }
      const { first, pages } = found;
      if ((Number(first) + pages) * pageBytes > fileBytes) return `page ${first} lies beyond its end`;
      readSync(descriptor, overflow, 0, head, Number(first) * pageBytes);
      seen++;
      if (overflow.readBigUInt64LE(0) !== first || (overflow.readUInt16LE(18) & flagOf.overflow) === 0)
        return `page ${first} was overwritten`;
    }
  }
  return undefined;
}

function isPage(page: Buffer, number: bigint, kind: number): boolean {
  const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  return (
    page.readBigUInt64LE(0) === number &&
    (page.readUInt16LE(18) & 0x7f) === kind &&
    lower % 2 === 0 &&
    lower <= upper &&
    upper <= page.length - head
  );
}

/** Where a node lies in its page, when it lies inside. */
function nodeAt(page: Buffer, index: number): number | undefined {
  const at = head + page.readUInt16LE(head + 2 * index);
  return at < head + page.readUInt16LE(22) || at + 8 > page.length ? undefined : at;
}

function childOf(page: Buffer, index: number, depth: number): Tree | 'damaged' {
  const at = nodeAt(page, index);
  if (at === undefined) return 'damaged';
  const root = BigInt(page.readUInt32LE(at)) | (BigInt(page.readUInt16LE(at + 4)) << 32n);
  return { root, depth: depth - 1 };
}

/** What a value is beside bytes: the root of a tree, or pages of its own. */
function valueOf(page: Buffer, index: number): Tree | { first: bigint; pages: number } | 'damaged' | 'inside' {
  const at = nodeAt(page, index);
  if (at === undefined) return 'damaged';
  const flags = page.readUInt16LE(at + 4);
  const big = (flags & nodeIs.big) !== 0;
  const value = at + 8 + page.readUInt16LE(at + 6);
  if (value + (big ? 24 : page.readUInt32LE(at)) > page.length) return 'damaged';
  if (big) return { first: page.readBigUInt64LE(value), pages: Number(page.readBigUInt64LE(value + 16)) };
  if ((flags & nodeIs.tree) === 0) return 'inside';
  const tree = treeAt(page, value);
  return tree.root === noRoot ? 'inside' : tree;
}

/** How LMDB names the run of the machine since its last start; 0 where the system does not say. */
function bootId(): bigint {
  try {
    return BigInt(`0x${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').split('-')[0] ?? '0'}`);
  } catch {
    return 0n;
  }
}
