import type { Committed } from './group.ts';

/** Reads a commit's metadata on its own, so that a mistake of the house's reader is not shared. */
export function coveredBy(committed: Committed | undefined): (offset: number) => boolean {
  if (committed === undefined) return () => false;
  const { offset: base, metadata } = committed;
  const match = /^d1:(\d+):(.*)$/.exec(metadata);
  if (match?.[1] !== String(base)) return (offset) => offset < base;
  const bits = Buffer.from(match[2] ?? '', 'base64');
  return (offset) => {
    if (offset < base) return true;
    const bit = offset - base;
    return ((bits[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;
  };
}
