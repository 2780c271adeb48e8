import type { Explanation, Wait } from '../../model/explanation.ts';
import { isoTime } from '../../model/time.ts';
import type { LaneEntry } from '../../operators/lanes/lane.ts';
import type { RingStats } from '../../operators/ring/ring-stats.ts';
import type { AssignedPartition } from '../../ports/record-source.ts';
import type { Decoded, Job } from '../job.ts';

import { attemptSteps } from './attempt-steps.ts';
import { findRecord, type Found, type Looked, type RecordRef } from './find-record.ts';
import { placeText } from './places.ts';
import { outside } from './sleep.ts';
import { keyText, waitWords, wallTime } from './wait-words.ts';
import { waitsOfHead } from './waits.ts';

/**
 * Where a record is in this worker, what it waits for and until when, what comes next. `undefined`: this worker does not
 * hold it. A pure look: nothing is noted for it while nobody asks.
 */
export function explainRecord(house: Looked, ref: RecordRef, asked: string): Explanation | undefined {
  const found = findRecord(house, ref);
  if (found === undefined) return undefined;
  const item = found.kind === 'lane' ? found.entry.item : found.item;
  const waits = found.kind === 'lane' ? waitsInLane(found.entry, house) : waitsInRing(found, house);
  const where = found.kind === 'ring' ? 'buffer' : isUnderWay(found.entry) ? 'under-way' : 'lane';
  return {
    ref: asked,
    where,
    summary: summaryOf(where, waits),
    ...nameOf(item),
    steps: stepsOf(item, found, house),
    waits,
    attempts: item.kind === 'call' ? item.attempts : [],
    ...(item.kind === 'call' ? futureOf(item, found, house) : {}),
  };
}

/** Whether it has its turn: nothing is ahead of it, and it waits in no room. */
export function isUnderWay({ ahead, state }: LaneEntry<Decoded>): boolean {
  return ahead === 0 && state === 'busy';
}

/** What it is called in a text: its id, or its place where it has none. */
export function nameOf(item: Decoded): Pick<Explanation, 'id' | 'at' | 'upstream' | 'api'> {
  const { record, held } = item.received;
  const at = placeText(held?.first ?? record);
  return item.kind === 'call' ? { id: item.id, at, upstream: item.destination.name, api: item.plan.api } : { at };
}

function waitsInLane(entry: LaneEntry<Decoded>, house: Looked): Wait[] {
  const { item, head, ahead } = entry;
  if (ahead === 0) return waitsOfHead(entry, house);
  const key = item.kind === 'call' ? keyText(item) : (item.received.record.key?.toString('utf8') ?? '');
  const first = nameOf(head);
  const order: Wait = {
    what: 'order',
    on: key,
    why: `${ahead} earlier ${ahead === 1 ? 'call' : 'calls'} of the key ${key} must end first; the first of them is ${first.id ?? first.at ?? ''}`,
    cure: 'calls that need no order among each other should have different keys, or none',
    ahead,
  };
  return [order, ...waitsOfHead({ ...entry, item: head, ahead: 0 }, house)];
}

/** In the buffer it waits for room in the lanes; what fills them is what holds it up. */
function waitsInRing(found: Extract<Found, { kind: 'ring' }>, house: Looked): Wait[] {
  const { lanes, rings, clock } = house;
  const { item } = found;
  if (item.kind === 'call' && (item.longWait?.untilMs ?? 0) > clock.now()) return outside(item, house);
  const { topic, partition } = found.partition;
  const ring = [...rings.stats()].find((one): one is RingStats<AssignedPartition> => one.partition === found.partition);
  const paused = ring?.paused === true ? `; the partition is paused (${ring.reasons.join(', ')})` : '';
  const full = !lanes.hasRoom;
  const buffer: Wait = {
    what: 'buffer',
    on: `${topic}/${partition}`,
    why: full
      ? `the lanes are full with ${lanes.size + lanes.inTurn} records, so nothing leaves the buffers${paused}`
      : `it is read and will get its lane in its turn${paused}`,
    cure: full ? 'see what the records in the lanes wait for, below' : 'nothing',
    ahead: found.ahead,
  };
  return full ? [buffer, ...fillers(house)] : [buffer];
}

/** What most records in the lanes wait for. */
function fillers(house: Looked): Wait[] {
  const byReason = new Map<string, { readonly wait: Wait; count: number }>();
  for (const entry of house.lanes.entries()) {
    const [wait] = waitsOfHead({ ...entry, item: entry.head, ahead: 0 }, house);
    if (wait === undefined) continue;
    const name = `${wait.what} ${wait.on}`;
    const known = byReason.get(name);
    if (known === undefined) byReason.set(name, { wait, count: 1 });
    else known.count++;
  }
  const [most] = [...byReason.values()].sort((a, b) => b.count - a.count);
  if (most === undefined) return [];
  return [{ ...most.wait, why: `${most.count} records in the lanes wait because ${most.wait.why}`, ahead: most.count }];
}

function stepsOf(item: Decoded, found: Found, { clock }: Looked): Explanation['steps'] {
  const { record, readAtMs } = item.received;
  const steps = [
    { at: isoTime(record.timestampMs), what: `written to ${record.topic}, partition ${record.partition}` },
    { at: wallTime(clock, readAtMs) ?? '', what: 'read by this worker' },
  ];
  if (item.kind !== 'call') return steps;
  steps.push(...attemptSteps(item.attempts));
  if (item.waitingFor !== undefined && found.kind === 'lane') {
    steps.push({
      at: wallTime(clock, item.waitsSinceMs(clock.now())) ?? '',
      what: `waits for ${waitWords[item.waitingFor]}`,
    });
  }
  return steps;
}

function futureOf(job: Job, found: Found, { clock }: Looked): Pick<Explanation, 'next' | 'deadline'> {
  const deadline = wallTime(clock, job.deadlineMs);
  const until = found.kind === 'lane' && found.entry.ahead === 0 ? found.entry.untilMs : undefined;
  const notBefore = until === undefined ? undefined : wallTime(clock, until);
  const of = job.call.retry === false ? 1 : (job.destination.retry?.options.maxAttempts ?? 1);
  return {
    next: { attempt: job.attemptsMade + 1, of, ...(notBefore === undefined ? {} : { notBefore }) },
    ...(deadline === undefined ? {} : { deadline }),
  };
}

function summaryOf(where: Explanation['where'], waits: readonly Wait[]): string {
  const [first] = waits;
  const last = waits.at(-1);
  const place = { buffer: 'in the buffer', lane: 'in its lane', 'under-way': 'under way' }[
    where as 'buffer' | 'lane' | 'under-way'
  ];
  if (first === undefined) return `It is ${place} and about to go on.`;
  const until = last?.until === undefined ? '' : `, until ${last.until}`;
  const behind = last === undefined || last === first ? '' : ` (held up by: ${last.why})`;
  return `It is ${place}: ${first.why}${behind}${until}.`;
}
