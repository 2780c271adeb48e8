import { contextHeaders } from '../model/headers.ts';
import { headerText } from '../model/record.ts';
import { readTraceparent, traceHeaders } from '../model/trace-context.ts';
import type { Clock } from '../ports/clock.ts';
import type { LogFields, Logger } from '../ports/logger.ts';
import type { Random } from '../ports/random.ts';

import { placeText } from './explain/places.ts';
import type { Decoded, Ending, Job } from './job.ts';
import { tenths } from './live-result.ts';

/** How much is said about how records end. */
export interface OutcomeLineOptions {
  /** Share of the calls that went well which get a line, 0 to 1. */
  readonly successShare: number;
  /** Lines in any second about one kind of other ending (upstream and reason); the next line counts what was left out. */
  readonly perSecond: number;
}

interface Parts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Says of a record how it ended, in one line with everything about it; repeats and successes are sampled. */
export class OutcomeLines {
  readonly #parts: Parts;
  readonly #options: OutcomeLineOptions;
  readonly #repeats: Repeats;

  constructor(parts: Parts, options: OutcomeLineOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#repeats = new Repeats(options.perSecond);
  }

  /** A record's terminal record is durable. */
  ended(item: Decoded, ending: Ending): void {
    const { clock, random, log } = this.#parts;
    if (ending.kind === 'held' || ending.kind === 'skipped') return;
    if (ending.kind === 'stored-result' || (ending.kind === 'result' && ending.result.status === 'ok')) {
      if (random.next() < this.#options.successShare) log.info(fieldsOf(item, ending, clock), 'a call has ended');
      return;
    }
    const outcome = outcomeOf(ending);
    const upstream = item.kind === 'call' ? item.destination.name : 'none';
    const leftOut = this.#repeats.leftOut(`${upstream} ${outcome}`, clock.now());
    if (leftOut === undefined) return;
    const fields = { ...fieldsOf(item, ending, clock), ...(leftOut > 0 ? { leftOut } : {}) };
    if (ending.kind === 'result') log.info(fields, 'a call has ended without a live answer');
    else log.warn(fields, 'a record has ended as a dead letter');
  }
}

/** Which of many like lines are written: so many in a second, and then how many were not. */
export class Repeats {
  readonly #perSecond: number;
  readonly #kinds = new Map<string, { fromMs: number; written: number; leftOut: number }>();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /**
   * Whether a line of that kind is written: how many before it were not, or `undefined` for "leave it out".
   * @param kind of a closed list: each is remembered
   */
  leftOut(kind: string, nowMs: number): number | undefined {
    let seen = this.#kinds.get(kind);
    if (seen === undefined) this.#kinds.set(kind, (seen = { fromMs: nowMs, written: 0, leftOut: 0 }));
    if (nowMs - seen.fromMs >= 1_000) {
      seen.fromMs = nowMs;
      seen.written = 0;
    }
    if (seen.written >= this.#perSecond) {
      seen.leftOut++;
      return undefined;
    }
    const { leftOut } = seen;
    seen.written++;
    seen.leftOut = 0;
    return leftOut;
  }
}

type Told = Exclude<Ending, { kind: 'held' | 'skipped' }>;

function outcomeOf(ending: Told): string {
  switch (ending.kind) {
    case 'result':
      return ending.result.status;
    case 'dead-letter':
      return ending.reason;
    case 'stored-result':
    case 'stored-dead-letter':
      // It ended at an earlier delivery, whose line tells how.
      return ending.kind;
  }
}

function fieldsOf(item: Decoded, ending: Told, clock: Clock): LogFields {
  const { record, held, readAtMs, trace } = item.received;
  const context = contextHeaders
    // What tracing systems say to each other is nothing for people.
    .filter((name) => name !== traceHeaders.state)
    .map((name) => [name, headerText(record.headers, name)] as const)
    .filter(([, text]) => text !== undefined);
  const traceId = trace?.traceId ?? readTraceparent(headerText(record.headers, traceHeaders.parent))?.traceId;
  return {
    at: placeText(held?.first ?? record),
    outcome: outcomeOf(ending),
    ...(ending.kind === 'dead-letter' ? { why: ending.message } : {}),
    ...(ending.kind === 'result' ? { source: ending.result.source } : {}),
    ...(item.kind === 'call' ? callFields(item) : {}),
    ...Object.fromEntries(context),
    ...(traceId === undefined ? {} : { traceId }),
    totalMs: tenths(clock.now() - readAtMs),
  };
}

function callFields(job: Job): LogFields {
  const { id, call, destination, plan, round, attempts, attemptsMade, firstAttemptMs, received } = job;
  const waitedMs: Record<string, number> = {};
  for (const { waitedFor, waitedMs: ms } of attempts) {
    if (waitedFor !== undefined) waitedMs[waitedFor] = (waitedMs[waitedFor] ?? 0) + (ms ?? 0);
  }
  const last = attempts.at(-1);
  return {
    id,
    upstream: destination.name,
    api: plan.api,
    app: plan.token?.app ?? call.app,
    tenant: call.tenant,
    priority: call.priority,
    ...(round > 0 ? { round } : {}),
    attempts: attemptsMade,
    class: last?.class,
    status: last?.status,
    code: last?.code,
    waitedMs,
    queuedMs: firstAttemptMs === undefined ? undefined : tenths(Math.max(0, firstAttemptMs - received.readAtMs)),
    limitedMs: tenths(job.limitedMs),
    inFlightMs: tenths(job.inFlightMs),
  };
}
