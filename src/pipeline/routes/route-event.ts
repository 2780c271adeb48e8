import { defer, EMPTY, expand, isObservable, map, merge, type Observable, of, take, takeLast, toArray } from 'rxjs';

import type { Call } from '../../model/call.ts';
import { checkCall } from '../../model/contracts.ts';
import type { DeadLetterHistory, DeadLetterReason } from '../../model/dead-letter.ts';
import type { Event } from '../../model/event.ts';
import { carriedHeaders, contextHeaders } from '../../model/headers.ts';
import { jsonOf } from '../../model/json-levels.ts';
import { originOf, type InRecord, type OutRecord } from '../../model/record.ts';
import { answersCallbacks, callbackTypes, callIdOf, type EventView, viewOfEvent, withApp } from '../../model/route.ts';
import { isTree } from '../../model/schema-words.ts';
import { isoTime } from '../../model/time.ts';
import { after } from '../../operators/interop/after.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { EventRoutes } from '../../ports/event-routes.ts';
import type { Acted, Route } from '../../ports/route.ts';
import { deadLetterRecord, tracedHeaders } from '../terminal-record.ts';
import type { RecordTrace } from '../trace/record-trace.ts';

/** What one route came to for one event. */
export interface RouteOutcome {
  readonly route: string;
  /** `called`: its calls, or its copy, are among the records; `idle`: it wants nothing; `differs`: its condition does not hold. */
  readonly outcome: 'called' | 'idle' | 'differs' | 'dead-letter';
}

/** The same with what is to be written for it. */
export interface Routed extends RouteOutcome {
  readonly records: readonly OutRecord[];
}

/** What routing an event needs. */
export interface RoutingContext {
  readonly routes: EventRoutes;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Names the cluster in origins. */
  readonly cluster: () => string;
}

// A handler that fails is tried again so much later each time, then its event is a dead letter.
const againAfterMs = [1_000, 5_000];

/**
 * Runs every route that is for an event. Writes nothing itself: what is to be written comes together, at the end, by route.
 * @param trace of the event, if it is kept: what is made of the event goes on with it
 */
export function routeEvent(
  record: InRecord,
  context: RoutingContext,
  trace?: RecordTrace,
): Observable<readonly Routed[]> {
  if (record.value === null) return of([]);
  const event = eventIn(record.value);
  if (event === undefined) {
    const letter = deadLetter(record, context, { reason: 'undecodable', message: 'the record is no event', trace });
    return of([{ route: 'none', outcome: 'dead-letter', records: [letter] }]);
  }
  const view = viewOfEvent(event);
  const found$ = context.routes.routesFor(event);
  return isObservable(found$)
    ? andThen(found$, (routes) => runAll(routes, view, { record, trace }, context))
    : runAll(found$, view, { record, trace }, context);
}

function runAll(
  routes: readonly Route[],
  view: EventView,
  event: Traced,
  context: RoutingContext,
): Observable<readonly Routed[]> {
  // What answers callbacks has done so at the door.
  const fitting = routes.filter(({ spec }) => !(callbackTypes.has(view.type) && answersCallbacks(spec.to.kind)));
  return merge(...fitting.map((route) => routeOne(route, view, event, context))).pipe(toArray());
}

/** An event with its trace. */
interface Traced {
  readonly record: InRecord;
  readonly trace: RecordTrace | undefined;
}

function routeOne(route: Route, view: EventView, event: Traced, context: RoutingContext): Observable<Routed> {
  const { name, to } = route.spec;
  const ended = (outcome: RouteOutcome['outcome'], records: readonly OutRecord[] = []): Routed => ({
    route: name,
    outcome,
    records,
  });
  const dead = (reason: DeadLetterReason, message: string, faults?: DeadLetterHistory['faults']): Routed =>
    ended('dead-letter', [
      deadLetter(event.record, context, { reason, message: `route ${name}: ${message}`, faults, trace: event.trace }),
    ]);
  return andThen(route.fits(view), (fit) => {
    if (fit.kind === 'failed') return of(dead('permanent', fit.message));
    if (fit.kind === 'differs') return of(ended('differs'));
    if (to.kind === 'topic') return of(ended('called', [copyOf(event, to.topic)]));
    return actWithRetries(route, view, context.timers).pipe(
      map((acted) => {
        if (acted.kind === 'failed') return dead(acted.again ? 'attempts_exhausted' : 'permanent', acted.message);
        const checked = acted.calls.map((call) => checkCall(withApp(call, view.app)));
        const faults = checked.flatMap((check) => (check.ok ? [] : check.faults));
        if (faults.length > 0) return dead('invalid_call', 'what it gives is no call', faults.slice(0, 20));
        const calls = checked.flatMap((check) => (check.ok ? [callRecord(check.call, event)] : []));
        return ended(calls.length > 0 ? 'called' : 'idle', calls);
      }),
    );
  });
}

function actWithRetries(route: Route, view: EventView, timers: Timers): Observable<Acted> {
  const callId = callIdOf(view, route.spec.name);
  function attempt(n: number): Observable<{ readonly n: number; readonly acted: Acted }> {
    return defer(() => route.act(view, callId)).pipe(
      take(1),
      map((acted) => ({ n, acted })),
    );
  }
  return attempt(0).pipe(
    expand(({ n, acted }) => {
      const waitMs = againAfterMs[n];
      if (acted.kind === 'done' || !acted.again || waitMs === undefined) return EMPTY;
      return andThen(after(timers, waitMs), () => attempt(n + 1));
    }),
    map(({ acted }) => acted),
    takeLast(1),
  );
}

function eventIn(value: Buffer): Event | undefined {
  const event = jsonOf(value.toString('utf8'));
  const isEvent = isTree(event) && ['id', 'type', 'app'].every((name) => typeof event[name] === 'string');
  return isEvent && isTree(event['body']) ? (event as unknown as Event) : undefined;
}

function callRecord(call: Call, { record: { key, headers }, trace }: Traced): OutRecord {
  return {
    topic: 'calls',
    // In the order of what the event is about.
    key: call.orderingKey === undefined ? key : Buffer.from(call.orderingKey),
    value: Buffer.from(JSON.stringify(call)),
    headers: trace === undefined ? carriedHeaders(headers) : tracedHeaders(headers, trace),
  };
}

function copyOf({ record: { key, value, headers }, trace }: Traced, topic: string): OutRecord {
  if (trace === undefined) return { topic, key, value, headers };
  const others = headers.filter(([name]) => !contextHeaders.some((carried) => carried === name));
  return { topic, key, value, headers: [...others, ...tracedHeaders(headers, trace)] };
}

/** The dead letter of an event of which something was made that its topic does not take. */
export function tooLarge(
  record: InRecord,
  route: string,
  { topic, limitBytes }: { readonly topic: string; readonly limitBytes: number },
  context: RoutingContext,
  trace: RecordTrace | undefined,
): OutRecord {
  const message = `route ${route}: what it gives for ${topic} is larger than that topic takes (${limitBytes} bytes)`;
  return deadLetter(record, context, { reason: 'invalid_call', message, trace });
}

interface Died {
  readonly reason: DeadLetterReason;
  readonly message: string;
  readonly faults?: DeadLetterHistory['faults'];
  readonly trace: RecordTrace | undefined;
}

function deadLetter(
  record: InRecord,
  { clock, cluster }: RoutingContext,
  { reason, message, faults, trace }: Died,
): OutRecord {
  const history: DeadLetterHistory = {
    reason,
    message: message.slice(0, 500),
    at: isoTime(clock.wall()),
    ...(faults === undefined ? {} : { faults }),
    attempts: [],
  };
  return deadLetterRecord(record, originOf(cluster(), record), history, { trace }).record;
}
