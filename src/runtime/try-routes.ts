import { firstValueFrom } from 'rxjs';

import { openRoutes } from '../adapters/routes/routes.ts';
import { systemClock, systemTimers } from '../adapters/system/clock.ts';
import type { Config } from '../config/config.ts';
import { eventRecord } from '../ingress/feishu/event-record.ts';
import { readEvent } from '../ingress/feishu/read-event.ts';
import { deadLetterHeaders, type DeadLetterHistory } from '../model/dead-letter.ts';
import { LarkspurError } from '../model/errors.ts';
import type { Event } from '../model/event.ts';
import { jsonOrText } from '../model/json-levels.ts';
import { headerText, type InRecord, type OutRecord } from '../model/record.ts';
import { answersCallbacks, callbackTypes, callIdOf, isFor, viewOfEvent } from '../model/route.ts';
import { isTree } from '../model/schema-words.ts';
import { routeEvent, type RouteOutcome } from '../pipeline/routes/route-event.ts';
import type { Route } from '../ports/route.ts';

import { readTable } from './rule-tiers.ts';

/** What one route would do with an event. */
interface TriedRoute {
  readonly route: string;
  /** Of a callback: `answered`; `failed`: its user sees an error; `not-asked`: a route before it answers the callback. */
  readonly outcome: RouteOutcome['outcome'] | 'answered' | 'failed' | 'not-asked';
  /** Why it would be a dead letter. */
  readonly message?: string;
  /** Calls that would be made, with their ids; topic of a copy; answer to a callback. */
  readonly made: readonly unknown[];
}

/** What the routes would do with an event. */
export interface TriedRoutes {
  readonly event: Pick<Event, 'id' | 'type' | 'app'>;
  readonly key: string;
  readonly routes: readonly TriedRoute[];
}

/**
 * Runs the routes on an event without sending anything: those of the configuration, then those of its table as it stands now. Handlers do run.
 * @param text a body as Feishu sends it, decrypted, or the value of a record on `events`
 * @throws LarkspurError `bad_request` when it is neither, `rules_unavailable` when the table cannot be read
 */
export async function tryRoutes(config: Config, text: string, app?: string): Promise<TriedRoutes> {
  const { record, event } = recordOf(text, app);
  const { routes, routeTable } = config;
  const table = routeTable === undefined ? [] : (await readTable(config, routeTable, systemTimers)).rules;
  const opened = openRoutes([...routes, ...table.map(({ spec }) => spec)], systemTimers);
  try {
    const fitting = opened.routes.filter(({ spec }) => isFor(spec, event));
    const tried: TriedRoute[] = [];
    for (const route of fitting) {
      const atDoor = callbackTypes.has(event.type) && answersCallbacks(route.spec.to.kind);
      const answered = atDoor && tried.some(({ outcome }) => outcome === 'answered' || outcome === 'failed');
      if (answered) tried.push({ route: route.spec.name, outcome: 'not-asked', made: [] });
      else tried.push(await (atDoor ? tryAnswer(route, event) : tryOne(route, record)));
    }
    return { event: { id: event.id, type: event.type, app: event.app }, key: String(record.key), routes: tried };
  } finally {
    await opened.close();
  }
}

const nothing = { kind: 'done', calls: [], answer: undefined } as const;

async function tryOne(route: Route, record: InRecord): Promise<TriedRoute> {
  const context = {
    routes: { routesFor: () => [route] },
    clock: systemClock,
    timers: systemTimers,
    cluster: () => 'test',
  };
  const routed = await firstValueFrom(routeEvent(record, context), { defaultValue: [] });
  const records = routed.flatMap((one) => one.records);
  const letter = records.find(({ topic }) => topic === 'dead-letters');
  const message = letter === undefined ? undefined : historyOf(letter).message;
  return {
    route: route.spec.name,
    outcome: routed[0]?.outcome ?? 'idle',
    ...(message === undefined ? {} : { message }),
    made: records
      .filter(({ topic }) => topic !== 'dead-letters')
      .map(({ topic, value }) => (topic === 'calls' ? (JSON.parse(String(value)) as unknown) : { topic })),
  };
}

async function tryAnswer(route: Route, event: Event): Promise<TriedRoute> {
  const view = viewOfEvent(event);
  const { name } = route.spec;
  const fit = await firstValueFrom(route.fits(view), { defaultValue: { kind: 'differs' } as const });
  if (fit.kind === 'differs') return { route: name, outcome: 'differs', made: [] };
  const acted =
    fit.kind === 'failed'
      ? fit
      : await firstValueFrom(route.act(view, callIdOf(event, name)), { defaultValue: nothing });
  if (acted.kind !== 'done') {
    return { route: name, outcome: 'failed', ...('message' in acted ? { message: acted.message } : {}), made: [] };
  }
  const answer = acted.answer === undefined ? [] : [{ answer: acted.answer }];
  return { route: name, outcome: 'answered', made: [...answer, ...acted.calls] };
}

function recordOf(text: string, app: string | undefined): { record: InRecord; event: Event } {
  const out = eventText(text, app);
  const event = JSON.parse(String(out.value)) as Event;
  const record: InRecord = { ...out, topic: 'events', partition: 0, offset: 0, timestampMs: event.receivedAtMs };
  return { record, event };
}

function eventText(text: string, app: string | undefined): OutRecord {
  const body = parsed(text);
  // A record of the topic holds the body; it is read anew, so that its key is known.
  const inner = isTree(body['body']) ? body['body'] : body;
  const found = readEvent(inner, JSON.stringify(inner));
  if (found === undefined) throw noEvent();
  const named = app ?? found.app ?? (typeof body['app'] === 'string' ? body['app'] : 'cli_test');
  const arrival = { app: named, receivedAtMs: systemClock.wall(), via: 'webhook', late: false, headers: {} } as const;
  return eventRecord(found, arrival);
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  const value = jsonOrText(text);
  if (isTree(value)) return value;
  throw noEvent();
}

function noEvent(): LarkspurError {
  return new LarkspurError('bad_request', 'the file holds no event of Feishu', {
    cure: 'Give a decrypted body with schema 2.0 or 1.0, or the value of a record: larkspur tail events --json',
  });
}

function historyOf({ headers }: OutRecord): Partial<DeadLetterHistory> {
  return JSON.parse(headerText(headers, deadLetterHeaders.history) ?? '{}') as Partial<DeadLetterHistory>;
}
