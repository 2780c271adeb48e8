import { createHash } from 'node:crypto';

import { isTree, type Tree } from '../../model/schema-words.ts';
import { mask } from '../../model/secret-text.ts';

import { epochMs } from './freshness.ts';

/** An event out of a verified body, whichever schema it has. */
export interface FeishuEvent {
  /** What identifies a repeat: `message_id` of a received message, else `event_id` or `uuid`, else a hash of the body. */
  readonly id: string;
  /** Whether Feishu named no id, so that the hash stands in. */
  readonly idIsHash: boolean;
  readonly type: string;
  /** App that the body names, where it does. */
  readonly app: string | undefined;
  readonly tenant: string | undefined;
  /** `undefined` when the body does not say. */
  readonly createdAtMs: number | undefined;
  /** What it tells. */
  readonly event: Tree;
  /** The body as it was decrypted, but for the verification token: who reads `events` must not be able to forge one. */
  readonly text: string;
}

// Feishu says of these that another member than the event's own id tells a repeat.
const ownKeys: Readonly<Record<string, readonly string[]>> = {
  'im.message.receive_v1': ['message', 'message_id'],
  'payroll.payment_activity.approved_v1': ['activity_id'],
};

const longestId = 256;
/** Type of the old card callback, which names none. */
export const oldCardType = 'card.action.trigger_v1';

/** Reads an event out of a verified body, or `undefined` when it is none of Feishu's shapes. */
export function readEvent(body: Tree, text: string): FeishuEvent | undefined {
  const { schema, header, event, type, uuid, ts } = body;
  if (schema === '2.0') {
    if (!isTree(header) || !isTree(event)) return undefined;
    return compose(event, text, {
      type: header['event_type'],
      id: header['event_id'],
      app: header['app_id'],
      tenant: header['tenant_key'],
      token: header['token'],
      createdAtMs: textOf(header['create_time'], /^\d{1,16}$/, epochMs),
    });
  }
  if (schema !== undefined) return undefined;
  if (type === 'event_callback' && isTree(event)) {
    return compose(event, text, {
      type: event['type'],
      id: uuid,
      app: event['app_id'],
      tenant: event['tenant_key'],
      token: body['token'],
      createdAtMs: textOf(ts, /^\d{1,11}(\.\d{1,9})?$/, (seconds) => Math.floor(Number(seconds) * 1_000)),
    });
  }
  if (type === undefined && isTree(body['action'])) {
    const { app_id: app, tenant_key: tenant } = body;
    // Its `token` is no proof: it is what the card is updated with later.
    return compose(body, text, { type: oldCardType, id: undefined, app, tenant, token: undefined });
  }
  return undefined;
}

interface Envelope {
  readonly type: unknown;
  readonly id: unknown;
  readonly app: unknown;
  readonly tenant: unknown;
  readonly token: unknown;
  readonly createdAtMs?: number | undefined;
}

function compose(event: Tree, text: string, envelope: Envelope): FeishuEvent | undefined {
  const { type, id, app, tenant, token, createdAtMs } = envelope;
  if (typeof type !== 'string' || !/^[\w.-]{1,128}$/.test(type)) return undefined;
  const named = idIn(Object.hasOwn(ownKeys, type) ? valueAt(event, ownKeys[type] ?? []) : undefined) ?? idIn(id);
  return {
    id: named ?? `sha256:${createHash('sha256').update(text).digest('hex')}`,
    idIsHash: named === undefined,
    type,
    app: idIn(app),
    tenant: idIn(tenant),
    createdAtMs,
    event,
    // In the text: parsed and written again, long numbers would lose digits.
    text: typeof token === 'string' && token !== '' ? text.replaceAll(JSON.stringify(token), `"${mask}"`) : text,
  };
}

function idIn(value: unknown): string | undefined {
  // Printable, because ids stand in keys, headers and log lines.
  return typeof value === 'string' && value.length <= longestId && /^[\x21-\x7e]+$/.test(value) ? value : undefined;
}

function textOf<T>(value: unknown, form: RegExp, read: (text: string) => T): T | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && form.test(text) ? read(text) : undefined;
}

/** The value at a path of maps, or `undefined`. */
export function valueAt(tree: Tree, path: readonly string[]): unknown {
  let value: unknown = tree;
  for (const step of path) {
    if (!isTree(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}
