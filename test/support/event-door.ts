import { createHash } from 'node:crypto';

import { NEVER, of, toArray } from 'rxjs';

import { type Embedded, openEmbedded } from '../../src/adapters/embedded/embedded.ts';
import { startServer } from '../../src/adapters/http/server.ts';
import { createMetrics, type ScrapableMetrics } from '../../src/adapters/prometheus/metrics.ts';
import { openRoutes } from '../../src/adapters/routes/routes.ts';
import { defaults } from '../../src/config/defaults.ts';
import type { AskService } from '../../src/ingress/feishu/callback-desk.ts';
import { type EventDoorSettings, feishuDoors } from '../../src/ingress/feishu/doors.ts';
import type { EventApp } from '../../src/ingress/feishu/event-app.ts';
import { EventNotes } from '../../src/ingress/feishu/event-notes.ts';
import type { Event } from '../../src/model/event.ts';
import type { InRecord } from '../../src/model/record.ts';
import { isFor, type RouteSpec } from '../../src/model/route.ts';
import { topicDeclarations } from '../../src/model/topics.ts';
import type { RecordSink } from '../../src/ports/record-sink.ts';
import { cardAction, messageEvent } from '../../src/sandbox/events/bodies.ts';
import { seal } from '../../src/sandbox/events/seal.ts';

import { httpAsk } from './http-ask.ts';
import { only } from './only.ts';
import { RememberingLogger } from './remembering-logger.ts';
import { seededRandom, VirtualTime } from './virtual-time.ts';

/** The door for events with real HTTP in front, an embedded store behind, and time that moves when it is told. */
export interface EventDoor {
  readonly port: number;
  readonly time: VirtualTime;
  readonly log: RememberingLogger;
  readonly metrics: ScrapableMetrics;
  readonly store: Embedded;
  /** Sends bytes as they are. */
  send(body: string | Buffer, headers?: Record<string, string>, app?: string): ReturnType<typeof httpAsk>;
  /** Seals a body as Feishu does, with the app's first key and token, and sends it. */
  deliver(body: unknown, app?: string): ReturnType<typeof httpAsk>;
  /** The same to the door of callbacks. */
  deliverCallback(body: unknown): ReturnType<typeof httpAsk>;
  /** Presses a button of a card and awaits the answer. */
  press(value: unknown): ReturnType<typeof httpAsk>;
  records(): Promise<InRecord[]>;
  events(): Promise<Event[]>;
  close(): Promise<void>;
}

/** What vector 2 of the encryption is made with. */
export const vectorApp: EventApp = {
  id: 'cli_0123456789abcdef',
  encryptKeys: ['dispatcher-test-key'],
  verificationTokens: ['vt_demo'],
};

/** What may differ from a door for {@link vectorApp} with the defaults. */
export interface EventDoorOptions {
  readonly apps?: readonly EventApp[];
  readonly settings?: Partial<EventDoorSettings>;
  readonly wallMs?: number;
  /** Stands before the store's own sink. */
  readonly sink?: (store: Embedded) => RecordSink;
  readonly ready?: () => boolean;
  readonly routes?: readonly RouteSpec[];
  ask?(call: unknown): ReturnType<AskService>;
  readonly notes?: (store: Embedded) => EventNotes;
  /** Another door on the same store and clock: a second process. */
  readonly beside?: EventDoor;
}

let doors = 0;
let presses = 0;

/** Opens one; who opens it closes it. The clock stands at the moment of the signature vectors. */
export async function openEventDoor(options: EventDoorOptions = {}): Promise<EventDoor> {
  const { apps = [vectorApp], settings = {}, wallMs = 1_700_000_001_000, ready = () => true, beside } = options;
  const time = beside?.time ?? new VirtualTime(wallMs);
  const log = new RememberingLogger();
  const metrics = createMetrics({ processMetrics: false });
  const store =
    beside?.store ??
    openEmbedded({ data: 'memory', clock: time, timers: time, logger: log, topics: topicDeclarations });
  const openedRoutes = openRoutes(options.routes ?? [], time);
  const feishu = feishuDoors({
    apps,
    settings: { ...defaults.events, ...settings },
    sink: options.sink?.(store) ?? store.sink,
    claims: store.eventClaims,
    finder: store.finder,
    clock: time,
    timers: time,
    metrics,
    routes: { routesFor: (event) => openedRoutes.routes.filter(({ spec }) => isFor(spec, event)) },
    ask: (call) => options.ask?.(call) ?? NEVER,
    process: `door-${doors++}`,
    notes: options.notes?.(store) ?? new EventNotes({ tickets: { keep: () => of(undefined) } }),
    ready,
  });
  const server = await startServer({
    name: 'ingress',
    host: '127.0.0.1',
    port: 0,
    routes: feishu.routes,
    log,
    metrics,
  });
  const post = (door: string, body: string | Buffer, headers: Record<string, string>, app: string) =>
    httpAsk(server.port, `/feishu/${app}/${door}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
  const firstId = apps[0]?.id ?? '';
  const send: EventDoor['send'] = (body, headers = {}, app = firstId) => post('events', body, headers, app);
  const sealed = (body: unknown, id: string) => {
    const [encryptKey] = apps.find((one) => one.id === id)?.encryptKeys ?? [];
    const target = { urls: [''], app: id, ...(encryptKey === undefined ? {} : { encryptKey }) };
    return seal(target, body, time.wall(), seededRandom(doors));
  };
  const records = () => only(store.tail('events', { last: 1_000_000, follow: false }).pipe(toArray()));
  return {
    port: server.port,
    ...{ time, log, metrics, store, send, records },
    deliver: (body, id = firstId) => {
      const request = sealed(body, id);
      return send(request.body, request.headers, id);
    },
    deliverCallback: (body) => {
      const request = sealed(body, firstId);
      return post('callbacks', request.body, request.headers, firstId);
    },
    press: (value) => {
      const seed = { n: presses++, subject: 'oc_1', wallMs: time.wall(), salt: 'p' };
      const [verificationToken = ''] = apps[0]?.verificationTokens ?? [];
      const request = sealed(cardAction({ app: firstId, verificationToken }, seed, value).body, firstId);
      return post('callbacks', request.body, request.headers, firstId);
    },
    events: async () => (await records()).map(({ value }) => JSON.parse(String(value)) as Event),
    close: async () => {
      await server.close();
      await openedRoutes.close();
      if (beside === undefined) await store.close();
    },
  };
}

/** A message in a chat, as Feishu describes it. */
export function message(n: number, { app = vectorApp, chat = 'oc_1', wallMs = 1_700_000_001_000 } = {}): unknown {
  const [verificationToken = ''] = app.verificationTokens;
  return messageEvent({ app: app.id, verificationToken }, { n, subject: chat, wallMs, salt: 's' }).body;
}

/** Signature headers over bytes, made as the documentation says. */
export function signed(body: string | Buffer, key: string, timestamp = '1700000001', nonce = 'n-42') {
  const hash = createHash('sha256')
    .update(timestamp + nonce + key)
    .update(body);
  return {
    'x-lark-request-timestamp': timestamp,
    'x-lark-request-nonce': nonce,
    'x-lark-signature': hash.digest('hex'),
  };
}
