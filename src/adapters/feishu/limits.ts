import { hash } from 'node:crypto';

import type { Call } from '../../model/call.ts';
import type { LimitKey, RateWindow } from '../../ports/profile.ts';

import type { Api, LimitScope, SerialScope } from './catalogue/apis.ts';

/** A call, placed: what its limits are counted by. */
export interface Placed {
  /** Name of the upstream; separates the quota of two that speak Feishu. */
  readonly upstream: string;
  readonly app: string;
  readonly tenant: string;
  /** Label of the API. */
  readonly label: string;
  readonly api: Api | undefined;
  /** What the path's parameters stand for. */
  readonly params: Readonly<Record<string, string>>;
  readonly call: Call;
}

/** Feishu names no figure: slow enough for its lowest tiers but the rarest, until somebody sets one. */
export const unknownTier: readonly RateWindow[] = [{ limit: 5, windowMs: 1_000 }];

/**
 * The buckets a call draws from: first the API's own (per app and tenant), then the narrower and the shared ones, as far
 * as the call tells what they are counted by. Who receives is shared by all bots, so that key names no app.
 * @param override windows from the configuration; replace the documented tier
 */
export function limitKeys(placed: Placed, override: readonly RateWindow[] | undefined): LimitKey[] {
  const { api } = placed;
  const own = apiKey(placed);
  const ownWindows = [...(override ?? (api?.tier.length ? api.tier : unknownTier))];
  const keys = new Map<string, readonly RateWindow[]>([[own, ownWindows]]);
  for (const { scope, window, onlyWith } of api?.further ?? []) {
    if (onlyWith.length > 0) {
      if (onlyWith.some((name) => name in membersOf(placed.call))) keys.set(`${own}|if`, [window]);
    } else if (scope === 'api') {
      ownWindows.push(window);
    } else {
      const key = scopeKey(placed, scope);
      if (key !== undefined) keys.set(key, [window]);
    }
  }
  const group = `${placed.upstream}|${placed.tenant}`;
  const limits: LimitKey[] = [];
  for (const [key, windows] of keys) limits.push({ key, windows, group, label: labelOf(key, own, placed) });
  limits.push({ key: tenantQuotaKey(placed), windows: [], group });
  return limits;
}

/** The monthly quota that all apps of a tenant share: nobody tells its size, but once it is used up all of them wait. */
function tenantQuotaKey({ upstream, tenant }: Placed): string {
  return join(upstream, '*', tenant, 'month');
}

/** The key of the tenant's monthly quota among the keys of a plan. */
export function monthlyLimitKey(limits: readonly LimitKey[]): string | undefined {
  return limits.find(({ key }) => key.split('|')[3] === 'month')?.key;
}

/** The name of the API for its own bucket, what is counted for the others. */
function labelOf(key: string, own: string, { label }: Placed): string {
  return key === own ? label : (key.split('|')[3] ?? label);
}

/** The resource on which calls of this API must go one by one, or `undefined`. */
export function serialKey(placed: Placed): string | undefined {
  const scope = placed.api?.serial;
  if (scope === undefined) return undefined;
  if (scope === 'api') return `${apiKey(placed)}|serial`;
  const resource = resourceOf(placed, scope);
  return resource === undefined ? undefined : join(placed.upstream, '*', placed.tenant, scope, resource, 'serial');
}

/** The key that counts by receiver among the keys of a plan. */
export function receiverLimitKey(limits: readonly LimitKey[]): string | undefined {
  return limits.find(({ key }) => key.split('|')[3] === 'receiver')?.key;
}

function apiKey(placed: Placed): string {
  const key = join(placed.upstream, placed.app, placed.tenant, placed.label);
  const per = placed.api?.tierPer ?? 'app';
  if (per === 'app') return key;
  const counted = per === 'user' ? userOf(placed.call) : hookOf(placed.params);
  return counted === undefined ? key : join(key, counted);
}

function scopeKey(placed: Placed, scope: Exclude<LimitScope, 'api'>): string | undefined {
  const { upstream, tenant, label } = placed;
  if (scope === 'tenant') return join(upstream, '*', tenant, label);
  const resource = resourceOf(placed, scope);
  if (resource === undefined) return undefined;
  // A user and a chat are told apart by their ids, and one send has one receiver.
  return join(upstream, '*', tenant, scope === 'chat' || scope === 'user' ? 'receiver' : scope, resource);
}

/** What the call says about a resource: in its path, else in its body. */
function resourceOf({ params, call }: Placed, scope: LimitScope | SerialScope): string | undefined {
  switch (scope) {
    case 'chat':
      return params['chat_id'] ?? bodyMember(call, 'chat_id') ?? bodyMember(call, 'receive_id');
    case 'user':
      return params['user_mailbox_id'] ?? bodyMember(call, 'receive_id') ?? userOf(call);
    case 'message':
      return params['message_id'];
    case 'document':
      return params['document_id'] ?? params['docToken'] ?? params['spreadsheet_token'] ?? params['spreadsheetToken'];
    case 'table':
      return params['table_id'];
    case 'folder':
      return bodyMember(call, 'folder_token') ?? 'root';
    case 'datasource':
      return params['data_source_id'];
    case 'api':
    case 'tenant':
      return undefined;
  }
}

function bodyMember(call: Call, name: string): string | undefined {
  const value = membersOf(call)[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function membersOf({ body }: Call): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null ? { ...body } : {};
}

function userOf(call: Call): string | undefined {
  return typeof call.as === 'object' ? call.as.user : undefined;
}

/** A hook's path is its password: keys stand in metrics and pages, so they hold a digest. */
function hookOf(params: Readonly<Record<string, string>>): string | undefined {
  const token = params['hook_token'];
  return token === undefined ? undefined : hash('sha256', token, 'hex').slice(0, 12);
}

function join(...parts: readonly string[]): string {
  return parts.join('|');
}
