import { defer, filter, finalize, map, merge, mergeMap, type Observable, of, repeat, take } from 'rxjs';

import type { Call } from '../model/call.ts';
import { type Fault, type HttpRequest, type HttpResponse, jsonResponse, problemResponse } from '../model/http.ts';
import type { OutRecord } from '../model/record.ts';
import { after } from '../operators/interop/after.ts';
import type { ClaimStore } from '../ports/claim-store.ts';
import type { Timers } from '../ports/clock.ts';
import type { HttpRoute } from '../ports/http-route.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { RecordSink } from '../ports/record-sink.ts';

import { answerOf } from './answer-of.ts';
import { BoundedIntake, type Intake } from './intake.ts';
import { readCall } from './read-call.ts';
import { readWait } from './read-wait.ts';
import { RecentIds } from './recent-ids.ts';

/** What the doors for calls need. */
export interface CallsApiOptions {
  readonly sink: RecordSink;
  readonly claims: ClaimStore;
  readonly timers: Timers;
  readonly metrics: Metrics;
  /** Makes the id of a call that has none: unique without coordination. */
  newId(): string;
  /** Why no worker could make a call, so that it is refused at the door; `undefined` when nothing stands against it. */
  refusalOf(call: Call, id: string): Fault | undefined;
  /** Whether the sink takes records at present; `false` answers 503 at once. */
  sinkReady(): boolean;
  /** Longest `?wait=`, milliseconds. Default 30,000. */
  readonly maxWaitMs?: number;
  /** How long a client waits for its call to be durable, milliseconds. Default 5,000. */
  readonly patienceMs?: number;
  /** Calls not yet durable, over all clients; further ones are answered 503. Default 1,000. */
  readonly maxHeld?: number;
  /** Clients that wait for answers; further ones are answered 202 at once. Default 1,000. */
  readonly maxWaiting?: number;
}

const firstLookMs = 25;
const longestLookMs = 200;
const carried = ['x-request-id', 'traceparent'] as const;

/**
 * The doors for calls over HTTP.
 *
 * `POST /v1/calls`: 202 with the id once the call is durable on `calls`; with `?wait=3s` the answer itself (see
 * {@link answerOf}), or 504 when the wait is over and the call goes on. The key of the record is `orderingKey`, else
 * `?key=`, else none: calls without a key have no order. A caller that repeats a call gives it an id of its own: the
 * first one counts. `GET /v1/results/{id}`: the answer as above, 202 while the call is on its way, 404 when nothing is
 * known of it.
 */
export function callsRoutes(options: CallsApiOptions): readonly HttpRoute[] {
  const { claims, timers, metrics, maxWaitMs = 30_000, maxWaiting = 1_000 } = options;
  const intake = new BoundedIntake(options.sink, timers, options.maxHeld ?? 1_000, options.patienceMs ?? 5_000);
  const recent = new RecentIds(10_000);
  let waiting = 0;
  metrics.gauge('larkspur_ingress_unstored_calls', 'Calls taken over HTTP and not yet durable', [], () => [
    [{}, intake.held] as const,
  ]);
  metrics.gauge('larkspur_ingress_waiting_clients', 'Clients that wait for an answer', [], () => [
    [{}, waiting] as const,
  ]);

  /** Looks again and again, ever less often, until the call has ended. */
  function lookUntilEnded(id: string): Observable<HttpResponse> {
    return defer(() => claims.view(id)).pipe(
      map((view) => answerOf(id, view)),
      repeat({ delay: (count) => after(timers, Math.min(firstLookMs * 1.5 ** (count - 1), longestLookMs)) }),
      filter((answer) => answer !== undefined),
      take(1),
    );
  }

  function waitForAnswer(id: string, waitMs: number): Observable<HttpResponse> {
    return defer(() => {
      if (waitMs === 0 || waiting >= maxWaiting) return of(accepted(id));
      waiting++;
      const over$ = after(timers, waitMs).pipe(map(() => stillGoing(id)));
      return merge(lookUntilEnded(id), over$).pipe(
        take(1),
        finalize(() => waiting--),
      );
    });
  }

  function post({ query, headers, body }: HttpRequest): Observable<HttpResponse> {
    const read = readCall(body);
    const wait = readWait(query['wait'], maxWaitMs);
    const keyFault = faultOfKey(query['key']);
    const faults = [
      ...(read.ok ? [] : read.faults),
      ...('waitMs' in wait ? [] : [wait]),
      ...(keyFault === undefined ? [] : [keyFault]),
    ];
    if (!read.ok || !('waitMs' in wait) || faults.length > 0) return of(invalid(faults));
    const id = read.call.id ?? options.newId();
    const refusal = options.refusalOf(read.call, id);
    if (refusal !== undefined) return of(invalid([refusal]));
    if (!options.sinkReady()) return of(unavailable(read.call.id, 'Calls cannot be stored at present.'));
    return intake.append(recordOf({ ...read.call, id }, query['key'], headers)).pipe(
      mergeMap((taken) => {
        if (taken.kind !== 'written') return of(notTaken(taken, id));
        recent.add(id);
        return waitForAnswer(id, wait.waitMs);
      }),
    );
  }

  function get({ params: { id = '' } }: HttpRequest): Observable<HttpResponse> {
    if (!/^[\x21-\x7e]{1,512}$/.test(id))
      return of(invalid([{ at: 'id', message: 'must be 1 to 512 visible ASCII characters' }]));
    if (!claims.ready()) return of(unknowable(id));
    const late$ = after(timers, options.patienceMs ?? 5_000).pipe(map(() => unknowable(id)));
    const known$ = claims
      .view(id)
      .pipe(
        map((view) => answerOf(id, view) ?? (view.kind !== 'unknown' || recent.has(id) ? pending(id) : unknown(id))),
      );
    return merge(known$, late$).pipe(take(1));
  }

  const calls: HttpRoute = { method: 'POST', path: '/v1/calls', handle: post };
  const results: HttpRoute = { method: 'GET', path: '/v1/results/:id', handle: get };
  return [calls, results];
}

function recordOf(call: Call, key: string | undefined, headers: HttpRequest['headers']): OutRecord {
  const recordKey = call.orderingKey ?? key;
  return {
    topic: 'calls',
    key: recordKey === undefined ? null : Buffer.from(recordKey),
    value: Buffer.from(JSON.stringify(call)),
    headers: carried.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, Buffer.from(value)] as const];
    }),
  };
}

function faultOfKey(key: string | undefined): Fault | undefined {
  if (key === undefined || (key.length > 0 && key.length <= 512)) return undefined;
  return { at: 'key', message: 'must be 1 to 512 characters' };
}

const resultPath = (id: string): string => `/v1/results/${encodeURIComponent(id)}`;

function accepted(id: string): HttpResponse {
  return jsonResponse(202, { id, status: 'accepted', result: resultPath(id) }, { location: resultPath(id) });
}

function pending(id: string): HttpResponse {
  return jsonResponse(202, { id, status: 'pending', result: resultPath(id) }, { 'retry-after': '1' });
}

function unknown(id: string): HttpResponse {
  const detail = 'No worker has begun a call of this id, or its result is no longer kept.';
  return problemResponse({ status: 404, code: 'not_found', title: 'Unknown call', detail, id });
}

function invalid(faults: readonly Fault[]): HttpResponse {
  const detail = faults.map(({ at, message }) => `${at === '' ? 'the body' : at} ${message}`).join('; ');
  return problemResponse({ status: 400, code: 'call_invalid', title: 'The call is not valid', detail, faults });
}

function stillGoing(id: string): HttpResponse {
  const detail = `The wait is over, the call goes on. Its result will be at ${resultPath(id)}.`;
  return problemResponse({
    status: 504,
    code: 'timed_out',
    title: 'No answer yet',
    detail,
    id,
    more: { result: resultPath(id) },
  });
}

function notTaken(taken: Exclude<Intake, { kind: 'written' }>, id: string): HttpResponse {
  switch (taken.kind) {
    case 'too-large': {
      const detail = `The call is larger than the ${taken.limitBytes} bytes that the topic takes.`;
      return problemResponse({ status: 413, code: 'record_too_large', title: 'Too large', detail, id });
    }
    case 'busy':
      return unavailable(id, 'Too many calls wait to be stored; this one was not taken.');
    case 'late':
      return unavailable(
        id,
        'The call was not stored in time, but may be yet. Send it again under the same id: it counts once.',
      );
  }
}

function unavailable(id: string | undefined, detail: string): HttpResponse {
  const about = id === undefined ? {} : { id };
  return problemResponse({
    status: 503,
    code: 'sink_unavailable',
    title: 'Not stored',
    detail,
    retryAfterSeconds: 5,
    ...about,
  });
}

function unknowable(id: string): HttpResponse {
  const detail = 'The store of results does not answer at present.';
  return problemResponse({
    status: 503,
    code: 'redis_unavailable',
    title: 'Not known now',
    detail,
    id,
    retryAfterSeconds: 5,
  });
}
