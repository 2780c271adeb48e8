import { hash } from 'node:crypto';

import type { Call } from '../../model/call.ts';
import type { Repeat } from '../../ports/profile.ts';

import type { Api, KeyRule } from './catalogue/apis.ts';

/** No retry of an unknown outcome after this share of the key's window: clocks differ and requests travel. */
const usableShare = 0.8;
/** A key without a stated window protects retries within minutes, not more. */
const unstatedWindowMs = 300_000;

/**
 * The key that makes repeats of a call recognisable: a pure function of its id, so every attempt, replica and restart
 * sends the same. 35 characters, or a version 4 UUID where the platform asks for one.
 */
export function keyOf(id: string, form: 'text' | 'uuid4'): string {
  const hex = hash('sha256', `key ${id}`, 'hex');
  if (form === 'text') return `lk-${hex.slice(0, 32)}`;
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}

/** A call with the platform's key in it, where its API has one, and what that makes of repeats. */
export interface Keyed {
  readonly call: Call;
  readonly repeat: Repeat;
}

/** Fills in the key unless the caller gave one. An API that may be repeated anyway needs none. */
export function withPlatformKey(call: Call, api: Api | undefined, method: string, id: string): Keyed {
  if (api === undefined) {
    const plain = method === 'GET' || method === 'PUT' || method === 'DELETE';
    return { call, repeat: { kind: plain ? 'always' : 'never' } };
  }
  // PATCH sets absolute values; of a POST only the name says so, and a wrong guess would act twice.
  if (api.repeat === 'yes' || (api.repeat === 'likely' && method === 'PATCH'))
    return { call, repeat: { kind: 'always' } };
  if (api.repeat !== 'key' || api.key === undefined) return { call, repeat: { kind: 'never' } };
  const filled = fill(call, api.key, id);
  if (filled === undefined) return { call, repeat: { kind: 'never' } };
  return {
    call: filled,
    repeat: {
      kind: 'keyed',
      windowMs: Math.floor((api.key.windowMs ?? unstatedWindowMs) * usableShare),
      ...(api.key.perToken ? { perToken: true as const } : {}),
    },
  };
}

/** `undefined`: there is no place for the key, or only the caller could have known it. */
function fill(call: Call, { place, name, form }: KeyRule, id: string): Call | undefined {
  const holder = place === 'query' ? (call.query ?? {}) : bodyOf(call);
  if (holder === undefined) return undefined;
  const given = holder[name];
  if (given !== undefined && given !== null && given !== '') return call;
  if (form === 'business') return undefined;
  const key = keyOf(id, form);
  return place === 'query'
    ? { ...call, query: { ...call.query, [name]: key } }
    : { ...call, body: { ...holder, [name]: key } };
}

/** The body as an object that can take a member, or `undefined` when it is something else. */
function bodyOf({ body, multipart }: Call): Readonly<Record<string, unknown>> | undefined {
  if (multipart !== undefined || Array.isArray(body)) return undefined;
  if (body === undefined) return {};
  return typeof body === 'object' && body !== null ? { ...body } : undefined;
}
