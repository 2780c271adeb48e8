import type { Exchange } from '../../model/outcome.ts';
import { isTree } from '../../model/schema-words.ts';

import { parseObject } from './envelope.ts';

/** Why a consent is of no use any more: the user or an administrator took it back; its refresh came to an unknown end. */
export type Revocation = 'invalid_grant' | 'refresh_outcome_unknown' | 'expired' | 'revoked_by_platform';

/** A pair of tokens as it is kept. */
export interface Pair {
  readonly access: string;
  readonly accessEndsAtMs: number;
  readonly refresh: string;
  readonly refreshEndsAtMs: number;
  /** When the user consented, epoch milliseconds. */
  readonly consentedAtMs: number;
  /** Since when somebody has been refreshing it, epoch milliseconds. */
  readonly refreshingSinceMs?: number;
  /** Set when a person must consent anew. */
  readonly ended?: Ended;
}

/** Why and when a consent ended, epoch milliseconds, and whether everybody has been told. */
export interface Ended {
  readonly reason: Revocation;
  readonly atMs: number;
  readonly told: boolean;
}

/** What was kept. */
export function pairIn(text: string): Pair | undefined {
  const value: unknown = JSON.parse(text);
  return isTree(value) ? (value as unknown as Pair) : undefined;
}

/** The pair in an answer of the platform that came at `nowMs`, epoch milliseconds; `undefined`: there is none in it. */
export function pairOf(exchange: Exchange, nowMs: number, consentedAtMs = nowMs): Pair | undefined {
  if (exchange.kind !== 'answered' || exchange.status !== 200) return undefined;
  const answer = parseObject(exchange.body);
  const { code, access_token: access, expires_in: lifeS } = answer ?? {};
  if (code !== 0 || typeof access !== 'string' || access === '' || typeof lifeS !== 'number') return undefined;
  const { refresh_token: refresh, refresh_token_expires_in: refreshLifeS } = answer ?? {};
  return {
    consentedAtMs,
    access,
    accessEndsAtMs: nowMs + lifeS * 1_000,
    refresh: typeof refresh === 'string' ? refresh : '',
    refreshEndsAtMs: nowMs + (typeof refreshLifeS === 'number' ? refreshLifeS : 0) * 1_000,
  };
}
