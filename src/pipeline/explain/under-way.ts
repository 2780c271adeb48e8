import { isUnderWay, nameOf } from './explain-record.ts';
import type { Looked } from './find-record.ts';
import { waitsOfHead } from './waits.ts';

// Enough to see what they have in common.
const mostNamed = 5;

/** What is under way at this moment, the first of it by name with what it is at; for the log of a worker that cuts it off. */
export function underWayNow(house: Looked): { readonly calls: number; readonly first: readonly string[] } {
  const first: string[] = [];
  for (const entry of house.lanes.entries()) {
    if (first.length === mostNamed) break;
    if (!isUnderWay(entry)) continue;
    const { id, at } = nameOf(entry.item);
    first.push([id ?? at, ...waitsOfHead(entry, house).map(({ why }) => why)].join(': '));
  }
  return { calls: house.lanes.inTurn, first };
}
