import { isUtf8 } from 'node:buffer';

import type { OperatorFunction } from 'rxjs';
import { map } from 'rxjs';

import { checkCall } from '../../model/contracts.ts';
import { firstOrigin, roundOf } from '../../model/dead-letter.ts';
import { type DelayTier, tierOf } from '../../model/delay-topics.ts';
import { cancelHeader } from '../../model/headers.ts';
import { type HeldState, heldStateOf } from '../../model/held.ts';
import { headerText, type InRecord, originOf, placeOf, sizeOf } from '../../model/record.ts';
import { whyNotJson } from '../../model/why-not-json.ts';
import { deadlineOf } from '../../operators/timeout/deadline.ts';
import type { Traces } from '../../operators/trace/traces.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AssignedPartition, SourceEvent } from '../../ports/record-source.ts';
import type { BrokerClock } from '../broker-clock.ts';
import { atGroup, type Destination } from '../destination.ts';
import { resumed, timesOf } from '../held-job.ts';
import { type Decoded, type Ending, Job } from '../job.ts';
import type { Outside, Received } from '../received.ts';
import { traceOf } from '../trace/trace-of.ts';

/** What decode hands on: partitions come and go, records in between. */
export type Arrival<T = Decoded> =
  | Exclude<SourceEvent, { kind: 'record' }>
  | { readonly kind: 'decoded'; readonly partition: AssignedPartition; readonly item: T };

/** What decode needs. */
export interface DecodeContext {
  readonly clock: Clock;
  readonly brokerClock: BrokerClock;
  readonly clusterId: () => string;
  readonly destinations: ReadonlyMap<string, Destination>;
  /** `undefined`: nothing is traced. */
  readonly traces?: Traces | undefined;
}

/**
 * Turns bytes into calls. A record that is no call gets its ending here (the reason names every wrong field) and goes
 * on with the stream, so that its offset is done when its dead letter is written. Never throws for what a record holds.
 */
export function decode(context: DecodeContext): OperatorFunction<SourceEvent, Arrival> {
  return map((event) =>
    event.kind === 'record'
      ? { kind: 'decoded', partition: event.partition, item: decodeRecord(event.partition, event.record, context) }
      : event,
  );
}

function decodeRecord(partition: AssignedPartition, record: InRecord, context: DecodeContext): Decoded {
  const tier = tierOf(record.topic);
  const state = tier === undefined ? undefined : heldStateOf(record);
  const nowMs = context.clock.now();
  const { traces } = context;
  const origin = state?.origin ?? originOf(context.clusterId(), record);
  const received: Received = {
    partition,
    record,
    origin,
    readAtMs: state === undefined ? nowMs : timesOf(state, record, context.brokerClock)(state.firstReadMs),
    bytes: sizeOf(record),
    trace: traces && traceOf(record, { origin, readAtMs: nowMs, held: state?.trace }, traces),
    ...(tier === undefined ? {} : { held: outsideOf(record, tier, state, context.brokerClock) }),
  };
  const ends = (ending: Ending): Decoded => ({ kind: 'unworkable', received, ending });
  const refused = (reason: 'undecodable' | 'invalid_call' | 'unroutable', message: string): Decoded =>
    ends({ kind: 'dead-letter', reason, message });

  const cancels = headerText(record.headers, cancelHeader);
  if (cancels !== undefined) return ends({ kind: 'skipped', cancels });
  if (record.value === null) return ends({ kind: 'skipped' });
  // Decoded all the same, other bytes would reach the upstream than were sent.
  if (!isUtf8(record.value)) return refused('undecodable', 'the value is not UTF-8');
  const text = record.value.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refused('undecodable', `the value is not JSON: ${whyNotJson(error, text)}`);
  }
  const checked = checkCall(value);
  if (!checked.ok) {
    const { faults } = checked;
    const message = `the value is no call: ${faults.map(({ at, message }) => `${at} ${message}`.trim()).join('; ')}`;
    return ends({ kind: 'dead-letter', reason: 'invalid_call', message, faults });
  }
  const { call } = checked;
  const name = call.upstream ?? 'feishu';
  const destination = context.destinations.get(name);
  if (destination === undefined) {
    const known = [...context.destinations.keys()].join(', ');
    return refused('unroutable', `/upstream "${name}" is not configured; known: ${known}`);
  }
  // A dead letter that is sent again is a new record, and still the same call to a platform that knows its key; to its
  // claim, too, where a redrive has counted it.
  const first = firstOrigin(record);
  const round = first === undefined ? 0 : roundOf(record);
  const id = call.id ?? (round > 0 ? first : undefined) ?? received.origin;
  const plan = destination.profile.plan(call, call.id ?? first ?? id);
  if ('reason' in plan) return refused(plan.reason, `${plan.at} ${plan.message}`);
  const request = { call, id, destination: atGroup(destination, plan), plan, round };
  if (state !== undefined) return resumed(received, request, state, context.brokerClock);
  return new Job(received, request, deadlineOf(call, record.timestampMs, context.brokerClock));
}

/**
 * The broker wrote down when the record came into its delay topic; there it stays as long as all others do, and no longer
 * than that from now, whatever the clocks say.
 */
function outsideOf(record: InRecord, { waitMs }: DelayTier, state: HeldState | undefined, brokerClock: Clock): Outside {
  return {
    dueMs: brokerClock.now() + Math.min(record.timestampMs - brokerClock.wall(), 0) + waitMs,
    first: (state === undefined ? undefined : placeOf(state.origin)) ?? record,
  };
}
