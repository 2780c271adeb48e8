import type { Path } from './tree.ts';
import { eachLeaf, pathText } from './tree.ts';

// Keys that are checked but change nothing in this version. One list, so that building one means striking a line.
const patterns: readonly string[] = ['profiles'];

/** Warnings for written keys that this version accepts and does not act on. */
export function notActedOn(written: unknown): string[] {
  const found = new Set<string>();
  eachLeaf(written, (path) => {
    const key = patterns.map((pattern) => prefixOf(path, pattern.split('.'))).find((prefix) => prefix !== undefined);
    if (key !== undefined) found.add(pathText(key));
  });
  return [...found].map((key) => `${key} is accepted but not acted on in this version`);
}

function prefixOf(path: Path, pattern: readonly string[]): Path | undefined {
  const fits = pattern.every((step, index) => index < path.length && (step === '*' || step === path[index]));
  return fits ? path.slice(0, pattern.length) : undefined;
}
