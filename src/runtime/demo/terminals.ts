import { lastValueFrom, toArray } from 'rxjs';

import { deadLetterHeaders, type DeadLetterHistory } from '../../model/dead-letter.ts';
import { headerText, type InRecord } from '../../model/record.ts';
import type { Attempt, Result } from '../../model/result.ts';
import type { Stores } from '../stores.ts';

/** How one call ended, as it stands in `results` or `dead-letters`. */
export interface Terminal {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** `ok`, `duplicate` ... for a result, else the reason of the dead letter. */
  readonly ending: string;
  /** The upstream answered the call: if it was a write, it took effect. */
  readonly answered: boolean;
  /** From reading the record, for the first time or for its first attempt, to its end; `undefined` for dead letters. */
  readonly totalMs: number | undefined;
  readonly attemptsMs: readonly number[];
  /** From the end of its first failed attempt to the end of the call, however it ended; `undefined`: none failed. */
  readonly recoverMs: number | undefined;
}

/** Reads everything that stands in both terminal topics, as any consumer of them would. */
export async function readTerminals(stores: Stores): Promise<Terminal[]> {
  const [results, deadLetters] = await Promise.all([readAll(stores, 'results'), readAll(stores, 'dead-letters')]);
  return [...results.map(fromResult), ...deadLetters.map(fromDeadLetter)];
}

function readAll(stores: Stores, topic: string): Promise<InRecord[]> {
  return lastValueFrom(stores.tail(topic, Number.MAX_SAFE_INTEGER).pipe(toArray()), { defaultValue: [] });
}

function fromResult(record: InRecord): Terminal {
  const { id, status, timing, attempts } = JSON.parse(record.value?.toString('utf8') ?? '') as Result;
  return {
    ...placeOf(record),
    id,
    ending: status,
    answered: status === 'ok' || status === 'duplicate',
    // A call that waited outside was read anew after that.
    totalMs: Math.max(timing.totalMs, sinceMs(record, attempts[0]?.started)),
    attemptsMs: attempts.map(({ ms }) => ms),
    recoverMs: recoverMs(record, attempts),
  };
}

function fromDeadLetter(record: InRecord): Terminal {
  const text = headerText(record.headers, deadLetterHeaders.history) ?? '{"attempts":[]}';
  const { id, reason, attempts } = JSON.parse(text) as DeadLetterHistory;
  return {
    ...placeOf(record),
    id: id ?? '',
    ending: reason,
    answered: false,
    totalMs: undefined,
    attemptsMs: attempts.map(({ ms }) => ms),
    recoverMs: recoverMs(record, attempts),
  };
}

function placeOf({ topic, partition, offset }: InRecord) {
  return { topic, partition, offset };
}

/** The terminal record is written when the call has ended. */
function recoverMs(record: InRecord, attempts: readonly Attempt[]): number | undefined {
  const failed = attempts.find(({ class: verdict }) => verdict !== 'success' && verdict !== 'duplicate');
  return failed === undefined ? undefined : Math.max(0, sinceMs(record, failed.started) - failed.ms);
}

function sinceMs({ timestampMs }: InRecord, started: string | undefined): number {
  return started === undefined ? 0 : timestampMs - Date.parse(started);
}
