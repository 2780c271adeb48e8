import type { Position } from '../../model/record.ts';
import type { LaneEntry } from '../../operators/lanes/lane.ts';
import type { AssignedPartition } from '../../ports/record-source.ts';
import type { House } from '../house.ts';
import type { Decoded } from '../job.ts';

/** What of a house is looked at. */
export type Looked = Pick<
  House,
  'lanes' | 'rings' | 'lines' | 'overflow' | 'clock' | 'claims' | 'sink' | 'pauses' | 'maxInTurn'
>;

/** A record that is meant: by the id of its call, or by its place. */
export type RecordRef =
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'place'; readonly topic: string; readonly partition: number; readonly offset: number };

/** Where in a house a record is. */
export type Found =
  | { readonly kind: 'lane'; readonly entry: LaneEntry<Decoded> }
  | { readonly kind: 'ring'; readonly item: Decoded; readonly ahead: number; readonly partition: AssignedPartition };

/** Reads `TOPIC/PARTITION/OFFSET`; anything else is the id of a call. */
export function readRef(text: string): RecordRef {
  const [, topic, partition, offset] = /^([\w.-]{1,100})\/(\d{1,6})\/(\d{1,15})$/.exec(text) ?? [];
  if (topic === undefined) return { kind: 'id', id: text };
  return { kind: 'place', topic, partition: Number(partition), offset: Number(offset) };
}

/**
 * Looks through what a house holds. Of several records with one id the one that is furthest. O(records held), a few
 * thousand at most, and only when somebody asks.
 */
export function findRecord({ lanes, rings }: Looked, ref: RecordRef): Found | undefined {
  let found: Found | undefined;
  for (const entry of lanes.entries()) {
    if (!isMeant(entry.item, ref)) continue;
    if (found === undefined || entry.ahead < (found.kind === 'lane' ? found.entry.ahead : Infinity)) {
      found = { kind: 'lane', entry };
    }
  }
  if (found !== undefined) return found;
  for (const { partition, item, ahead } of rings.items()) {
    if (isMeant(item, ref)) return { kind: 'ring', item, ahead, partition };
  }
  return undefined;
}

function isAt(one: Position, other: Position): boolean {
  return one.topic === other.topic && one.partition === other.partition && one.offset === other.offset;
}

function isMeant(item: Decoded, ref: RecordRef): boolean {
  const { record, origin, held } = item.received;
  if (ref.kind === 'id') return origin === ref.id || (item.kind === 'call' && item.id === ref.id);
  // One that waited outside is known by where it is, and by where it first was.
  return isAt(record, ref) || (held !== undefined && isAt(held.first, ref));
}
