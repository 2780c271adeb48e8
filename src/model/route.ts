import { createHash } from 'node:crypto';

import type { Event } from './event.ts';
import { fits } from './pattern.ts';
import { isTree, type Tree } from './schema-words.ts';

/** Where a route leads. */
export type RouteTarget =
  /** A service over HTTP: an upstream like any other. */
  | { readonly kind: 'http'; readonly upstream: string; readonly path: string }
  /** A module with a default export `async (event, ctx) => answer`, in a thread of its own. */
  | { readonly kind: 'handler'; readonly module: string; readonly timeoutMs: number }
  /** An expression that gives a call, several, or nothing; or the fields of a call, of which `body` is an expression. */
  | { readonly kind: 'call'; readonly template: string | Tree }
  /** An expression that gives the answer to a callback. */
  | { readonly kind: 'answer'; readonly template: string }
  /** The event as it is, on another topic. */
  | { readonly kind: 'topic'; readonly topic: string };

/** One route as it is configured. */
export interface RouteSpec {
  /** Unique; the ids of its calls hold it. */
  readonly name: string;
  /** Event type; `*` stands for any characters. */
  readonly on: string;
  /** Only events of this app; `undefined`: of all. */
  readonly app: string | undefined;
  /** Expression that must be true; `undefined`: always. */
  readonly when: string | undefined;
  readonly to: RouteTarget;
}

/** What expressions and handlers see: the event as on the topic, with header and event of its body in front. */
export interface EventView extends Event {
  /** Header of schema 2.0, empty for 1.0. */
  readonly header: Tree;
  readonly event: Tree;
}

/** Types that Feishu wants an answer to within 3 s, and never delivers again. */
export const callbackTypes: ReadonlySet<string> = new Set([
  'card.action.trigger',
  'card.action.trigger_v1',
  'url.preview.get',
]);

/** Targets that answer a callback at the door; for any other event `http` and `handler` are the worker's. */
export function answersCallbacks(kind: RouteTarget['kind']): boolean {
  return kind === 'http' || kind === 'handler' || kind === 'answer';
}

/** The event as expressions and handlers see it. */
export function viewOfEvent(event: Event): EventView {
  const { header, event: inner } = event.body;
  return { ...event, header: isTree(header) ? header : {}, event: isTree(inner) ? inner : event.body };
}

/** Whether a route is for events of this type and app; its condition is another matter. */
export function isFor({ on, app }: Pick<RouteSpec, 'on' | 'app'>, event: Pick<Event, 'type' | 'app'>): boolean {
  if (app !== undefined && app !== event.app) return false;
  return on === event.type || (on.includes('*') && fits(on, event.type));
}

const longestId = 160;

/** Beginning of the ids of all calls that a route makes of an event: the same each time, so a repeat does nothing twice. */
export function callIdOf(event: Pick<Event, 'app' | 'tenant' | 'type' | 'id'>, route: string): string {
  const { app, tenant = '', type, id } = event;
  const plain = `${route}/${app}/${id}`;
  // A message_id tells the tenant, too; an event's own id is Feishu's and unique in an app.
  if (plain.length <= longestId) return plain;
  return `sha256:${createHash('sha256').update([route, app, tenant, type, id].join('\n')).digest('hex')}`;
}

/** A call of Feishu's goes out as the app that the event is of, unless it says otherwise. */
export function withApp(call: unknown, app: string): unknown {
  if (!isTree(call) || call['app'] !== undefined) return call;
  return call['upstream'] === undefined || call['upstream'] === 'feishu' ? { ...call, app } : call;
}
