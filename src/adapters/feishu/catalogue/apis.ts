import { readFileSync } from 'node:fs';

import type { RateWindow } from '../../../ports/profile.ts';

import { type PathMatch, PathTrie } from './path-trie.ts';

/** What a further limit is counted by. `api`: like the tier itself, per app and tenant. */
export type LimitScope = 'api' | 'tenant' | 'user' | 'chat' | 'message' | 'document';

/** A limit beside the tier. */
export interface FurtherLimit {
  readonly scope: LimitScope;
  readonly window: RateWindow;
  /** Counts only when the body has one of these members. */
  readonly onlyWith: readonly string[];
}

/** Resource on which the platform takes one call at a time. `api`: the whole API of this app. */
export type SerialScope = 'api' | 'table' | 'document' | 'folder' | 'chat' | 'user' | 'datasource';

/** The platform's own idempotency key of an API. */
export interface KeyRule {
  readonly place: 'body' | 'query';
  readonly name: string;
  /** How long a repeat is recognised; `undefined`: not stated. */
  readonly windowMs: number | undefined;
  /** `business`: the id of a record, which only the caller knows; we never make one up. */
  readonly form: 'text' | 'uuid4' | 'business';
  /** Known only under the token it came with: another token is another caller. */
  readonly perToken: boolean;
}

/** What Feishu documents about one API. */
export interface Api {
  /** Method and pattern, e.g. `GET /open-apis/im/v1/chats/:chat_id`. */
  readonly label: string;
  /** First path segment after `/open-apis`. */
  readonly service: string;
  /** The documented tier; empty when no figure is stated. */
  readonly tier: readonly RateWindow[];
  readonly further: readonly FurtherLimit[];
  readonly serial: SerialScope | undefined;
  /** `user`, `bot`: the tier counts for each of them. */
  readonly tierPer: 'app' | 'user' | 'bot';
  /** Accepted kinds; empty when unknown; `none`: the API takes no token. */
  readonly tokens: readonly ('tenant' | 'app' | 'user' | 'none')[];
  /** After an unknown outcome. `likely`: sets an end state, by its name. */
  readonly repeat: 'yes' | 'likely' | 'key' | 'no';
  readonly key: KeyRule | undefined;
  /** The answer is a file, not JSON. */
  readonly download: boolean;
}

/** All APIs, found by method and path or by label. */
export interface ApiCatalogue {
  readonly size: number;
  readonly services: ReadonlySet<string>;
  readonly all: Iterable<Api>;
  find(method: string, path: string): PathMatch<Api> | undefined;
  byLabel(label: string): Api | undefined;
}

const secondMs = 1_000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;
/** Stands for "for ever": longer than anything here waits, and still a number in JSON. */
const foreverMs = 366 * dayMs;

let loaded: ApiCatalogue | undefined;

/** The catalogue that comes with this version, read once per process (see README.md beside it). */
export function apiCatalogue(): ApiCatalogue {
  loaded ??= parseApis(readFileSync(new URL('apis.tsv', import.meta.url), 'utf8'));
  return loaded;
}

/** Reads the catalogue from tab-separated text: a header line, then one API per line. */
function parseApis(text: string): ApiCatalogue {
  const trie = new PathTrie<Api>();
  const byLabel = new Map<string, Api>();
  const services = new Set<string>();
  for (const line of text.trimEnd().split('\n').slice(1)) {
    const api = parseApi(line);
    const [method = '', path = ''] = api.label.split(' ');
    trie.add(method, path, api);
    byLabel.set(api.label, api);
    services.add(api.service);
  }
  return {
    size: byLabel.size,
    services,
    // Anew each time: an iterator is used up by whoever reads it first.
    get all() {
      return byLabel.values();
    },
    find: (method, path) => trie.find(method, path),
    byLabel: (label) => byLabel.get(label),
  };
}

/** The service that a path belongs to, which error codes and breakers go by: the segment after `/open-apis`, or the first. */
export function serviceOf(path: string): string {
  return /^.*?\/open-apis\/([^/?]+)/.exec(path)?.[1] ?? /^\/([^/?]+)/.exec(path)?.[1] ?? '';
}

const tokenKinds = { t: 'tenant', a: 'app', u: 'user', none: 'none' } as const;

function parseApi(line: string): Api {
  const [method = '', path = '', perMinute, perSecond, other, tokens, repeat, key, keyNotes, , download] =
    line.split('\t');
  const tier: RateWindow[] = [];
  if (perSecond) tier.push({ limit: Number(perSecond), windowMs: secondMs });
  if (perMinute) tier.push({ limit: Number(perMinute), windowMs: minuteMs });
  const items = list(other);
  const serial = items.find((item) => item.startsWith('serial'));
  return {
    label: `${method} ${path}`,
    service: serviceOf(path),
    tier,
    further: items.flatMap((item) => furtherLimit(item) ?? []),
    serial: serial === undefined ? undefined : ((serial.split('/')[1] ?? 'api') as SerialScope),
    tierPer: items.includes('per-user') ? 'user' : items.includes('per-bot') ? 'bot' : 'app',
    tokens: list(tokens).map((kind) => tokenKinds[kind as keyof typeof tokenKinds]),
    repeat: repeat as Api['repeat'],
    key: key ? keyRule(key, keyNotes ?? '') : undefined,
    download: download === 'yes',
  };
}

function list(cell: string | undefined): string[] {
  return cell ? cell.split(',') : [];
}

/** `5/s/chat`, `10000/d`, `1/5s/token`, `1/s/if:a|b`; anything else in the column is no rate. */
function furtherLimit(item: string): FurtherLimit | undefined {
  const match = /^(\d+)\/(\d*)([sd])(?:\/(.+))?$/.exec(item);
  if (match === null) return undefined;
  const [, limit, count, unit, per = ''] = match;
  const window = { limit: Number(limit), windowMs: Number(count || 1) * (unit === 's' ? secondMs : dayMs) };
  if (per.startsWith('if:')) return { scope: 'api', window, onlyWith: per.slice(3).split('|') };
  // A token stands for the app in the tenant, which is what the API's own limit counts by.
  return { scope: per === '' || per === 'token' ? 'api' : (per as LimitScope), window, onlyWith: [] };
}

/** `place:name:length:window`. Our keys fit every documented length, so the length is not kept. */
function keyRule(cell: string, notes: string): KeyRule | undefined {
  const [place, name = '', , window = ''] = cell.split(':');
  // A key inside each element of a list names records, and several keys have no single place to put ours.
  if (cell.includes(',') || name.includes('[]')) return undefined;
  const form = notes.includes('business-id') ? 'business' : notes.includes('uuid4') ? 'uuid4' : 'text';
  return { place: place as KeyRule['place'], name, windowMs: windowMs(window), form, perToken: notes.includes('per-token') };
}

function windowMs(text: string): number | undefined {
  if (text === '') return undefined;
  if (text === 'forever') return foreverMs;
  return Number.parseInt(text, 10) * (text.endsWith('m') ? minuteMs : hourMs);
}
