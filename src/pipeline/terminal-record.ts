import { deadLetterHeaders, firstOrigin, roundOf, type DeadLetterHistory } from '../model/dead-letter.ts';
import { tierFor } from '../model/delay-topics.ts';
import { carriedHeaders } from '../model/headers.ts';
import { heldHeader, heldText } from '../model/held.ts';
import type { InRecord, OutRecord, RecordHeaders } from '../model/record.ts';
import type { Result } from '../model/result.ts';
import { isoTime } from '../model/time.ts';
import { traceHeaders } from '../model/trace-context.ts';
import type { Clock } from '../ports/clock.ts';

import type { BrokerClock } from './broker-clock.ts';
import { heldStateFor } from './held-job.ts';
import type { Decoded, Ending, Job } from './job.ts';
import type { RecordTrace } from './trace/record-trace.ts';

// Header bytes stay bounded however often a record is redriven: the newest attempts tell most.
const mostHistoryAttempts = 8;
const mostMessageChars = 500;

/** The record that ends an input, and the JSON of it that a claim remembers. */
export interface Terminal {
  readonly record: OutRecord;
  readonly json: string;
}

interface Clocks {
  readonly clock: Clock;
  readonly brokerClock: BrokerClock;
}

/** Builds what is written for an ending, or for a wait outside; `undefined` for one that needs nothing written. */
export function terminalOf(item: Decoded, ending: Ending, { clock, brokerClock }: Clocks): Terminal | undefined {
  const { record, origin, trace } = item.received;
  switch (ending.kind) {
    case 'skipped':
      return undefined;
    case 'held':
      return item.kind === 'call' ? heldRecord(item, ending, brokerClock) : undefined;
    case 'result':
      return resultRecord(record, JSON.stringify(ending.result), trace);
    case 'stored-result':
      return resultRecord(record, ending.json, trace);
    case 'stored-dead-letter':
      return deadLetterRecord(record, origin, JSON.parse(ending.json) as DeadLetterHistory, { trace });
    case 'dead-letter': {
      const job = item.kind === 'call' ? item : undefined;
      const history: DeadLetterHistory = {
        ...(job === undefined ? {} : { id: job.id, upstream: job.destination.name }),
        reason: ending.reason,
        message: ending.message.slice(0, mostMessageChars),
        at: isoTime(clock.wall()),
        ...(ending.faults === undefined ? {} : { faults: ending.faults.slice(0, 20) }),
        ...(job === undefined || ending.reason !== 'outcome_unknown' ? {} : whatIsKnown(job, clock)),
        attempts: (job?.attempts ?? []).slice(-mostHistoryAttempts),
      };
      return deadLetterRecord(record, origin, history, {
        class: ending.class,
        attempts: job?.attemptsMade ?? 0,
        trace,
      });
    }
  }
}

/** The record of a call that waits: its own, untouched, and a header with what it has behind it. */
function heldRecord(
  job: Job,
  { untilMs, why, awayMs }: Extract<Ending, { kind: 'held' }>,
  brokerClock: BrokerClock,
): Terminal {
  const { record, partition } = job.received;
  const headers = record.headers.filter(([name]) => name !== heldHeader);
  const state = Buffer.from(heldText(heldStateFor(job, untilMs, why, brokerClock)));
  return {
    record: {
      topic: tierFor(awayMs ?? untilMs - brokerClock.now()).topic,
      // Where its key's other records are read, however its producer chose that.
      partition: partition.partition,
      key: record.key,
      value: record.value,
      headers: [...headers, [heldHeader, state]],
    },
    json: '',
  };
}

/** For who must find out: when to look, how often it may have happened, whether a repeat would be recognised. */
function whatIsKnown(job: Job, clock: Clock): Pick<DeadLetterHistory, 'unknown'> {
  const { ambiguousSinceMs, ambiguousAttempts, plan } = job;
  if (ambiguousSinceMs === undefined) return {};
  return {
    unknown: {
      since: isoTime(clock.wall() - (clock.now() - ambiguousSinceMs)),
      attempts: ambiguousAttempts,
      requestBytes: plan.request().body?.length ?? 0,
      keyed: plan.repeat.kind === 'keyed',
    },
  };
}

/** The result that stands for one that was too large to be written: all but the answer's body. */
export function withoutBody(result: Result): Result {
  const { response, ...rest } = result;
  if (response === undefined) return rest;
  const { body: _body, base64: _base64, ...head } = response;
  return { ...rest, response: head };
}

function resultRecord(input: InRecord, json: string, trace: RecordTrace | undefined): Terminal {
  const headers = trace === undefined ? carriedHeaders(input.headers) : tracedHeaders(input.headers, trace);
  return { record: { topic: 'results', key: input.key, value: Buffer.from(json), headers }, json };
}

/** What comes back with a result, and its trace as it went on here. */
export function tracedHeaders(headers: RecordHeaders, { traceparent }: RecordTrace): RecordHeaders {
  const others = carriedHeaders(headers).filter(([name]) => name !== traceHeaders.parent);
  return [...others, [traceHeaders.parent, Buffer.from(traceparent)]];
}

/** What is told of a dead letter beside its history. */
export interface DeadLetterFacts {
  /** Class of its outcome; default: that of the last attempt. */
  readonly class?: string | undefined;
  /** Attempts that were made; default: those of the history. */
  readonly attempts?: number;
  readonly trace?: RecordTrace | undefined;
}

/** A dead letter: key, value and headers of its input untouched, what is known of its end in headers beside them. */
export function deadLetterRecord(
  input: InRecord,
  origin: string,
  history: DeadLetterHistory,
  facts: DeadLetterFacts = {},
): Terminal {
  const own = new Set<string>([...Object.values(deadLetterHeaders), heldHeader]);
  const json = JSON.stringify(history);
  const header = (name: string, text: string): readonly [string, Buffer] => [name, Buffer.from(text)];
  const round = roundOf(input);
  return {
    record: {
      topic: 'dead-letters',
      key: input.key,
      value: input.value,
      headers: [
        // An earlier round's own headers are replaced, so a redriven record does not grow.
        ...input.headers.filter(([name]) => !own.has(name)),
        header(deadLetterHeaders.reason, history.reason),
        header(deadLetterHeaders.class, facts.class ?? history.attempts.at(-1)?.class ?? 'none'),
        // The first one stays through every round: it is what the platform's key was made of.
        header(deadLetterHeaders.origin, firstOrigin(input) ?? origin),
        header(deadLetterHeaders.attempts, String(facts.attempts ?? history.attempts.length)),
        header(deadLetterHeaders.history, json),
        ...(facts.trace === undefined ? [] : [header(deadLetterHeaders.trace, facts.trace.traceparent)]),
        ...(round === 0 ? [] : [header(deadLetterHeaders.round, String(round))]),
      ],
    },
    json,
  };
}
