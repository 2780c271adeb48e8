import type { Cancelled, ClaimReply, ClaimRequest, ClaimView, Finish } from '../../ports/claim-store.ts';

/** What is stored of one id. */
export interface ClaimRecord {
  readonly state: 'PENDING' | 'FAILED' | 'PROCESSED' | 'DEAD';
  readonly fence: number;
  /** PENDING: end of the lease. FAILED: not to be claimed before. Epoch milliseconds, as all times here. */
  readonly untilMs: number;
  /** Owners that vanished with the claim open. */
  readonly takeovers: number;
  /** The highest round that was granted. */
  readonly round: number;
  /** When bytes may first have left, or 0. */
  readonly firstSentMs: number;
  readonly expiresMs: number;
  /** Record that was last granted the claim. */
  readonly origin: string;
  /** PENDING and FAILED: {@link unwanted} when nobody wants the call any more. */
  readonly result: string;
}

const unwanted = 'c';

/** An owner may vanish so often before its call counts as what kills workers. */
const maxTakeovers = 8;

/** What a step makes of a record: `next` is to be stored, `undefined` changes nothing. */
export interface Step<Answer> {
  readonly next: ClaimRecord | undefined;
  readonly answer: Answer;
}

/** The record as it counts at `nowMs`: one past its time to live is none. */
export function liveAt(record: ClaimRecord | undefined, nowMs: number): ClaimRecord | undefined {
  return record !== undefined && record.expiresMs > nowMs ? record : undefined;
}

/** Asks for a claim. The same table as `adapters/redis/scripts/claim.lua`. */
export function claimStep(record: ClaimRecord | undefined, ask: ClaimRequest, nowMs: number): Step<ClaimReply> {
  if (record === undefined) return grant(ask, nowMs, { fence: 1, takeovers: 0, round: 0, firstSentMs: 0, result: '' });
  const { state, fence, untilMs, takeovers, round, firstSentMs, origin, result } = record;
  switch (state) {
    case 'PROCESSED':
      return { next: undefined, answer: { kind: 'processed', origin, result } };
    case 'DEAD':
      if ((ask.round ?? 0) > round)
        return grant(ask, nowMs, { fence: fence + 1, takeovers: 0, round, firstSentMs: 0, result: '' });
      return { next: undefined, answer: { kind: 'dead', origin, result } };
    case 'FAILED':
      if (untilMs > nowMs) return { next: undefined, answer: { kind: 'not-due', waitMs: untilMs - nowMs } };
      return grant(ask, nowMs, { fence: fence + 1, takeovers, round, firstSentMs, result });
    case 'PENDING':
      if (untilMs > nowMs) return { next: undefined, answer: { kind: 'pending', waitMs: untilMs - nowMs } };
      if (takeovers >= maxTakeovers) {
        const next = { ...record, state: 'DEAD', untilMs: 0, expiresMs: nowMs + ask.ttlMs, result: '' } as const;
        return { next, answer: { kind: 'dead', origin, result: '' } };
      }
      return grant(ask, nowMs, { fence: fence + 1, takeovers: takeovers + 1, round, firstSentMs, result });
  }
}

function grant(
  ask: ClaimRequest,
  nowMs: number,
  before: Pick<ClaimRecord, 'fence' | 'takeovers' | 'round' | 'firstSentMs' | 'result'>,
): Step<ClaimReply> {
  const { fence, takeovers, firstSentMs, result } = before;
  const cancelled = result === unwanted;
  const next: ClaimRecord = {
    state: 'PENDING',
    fence,
    untilMs: nowMs + ask.leaseMs,
    takeovers,
    round: Math.max(before.round, ask.round ?? 0),
    // What nobody wants is not going to be sent.
    firstSentMs: firstSentMs === 0 && ask.sent && !cancelled ? nowMs : firstSentMs,
    expiresMs: nowMs + Math.max(ask.ttlMs, ask.leaseMs),
    origin: ask.origin,
    result,
  };
  const firstSentAgoMs = firstSentMs === 0 ? undefined : Math.max(0, nowMs - firstSentMs);
  const granted = { kind: 'granted', fence, firstSentAgoMs, takeovers } as const;
  return { next, answer: cancelled ? { ...granted, cancelled } : granted };
}

/** Prolongs a lease; it may have run out, as long as nobody else took the claim. */
export function extendStep(
  record: ClaimRecord | undefined,
  fence: number,
  leaseMs: number,
  nowMs: number,
): Step<boolean> {
  if (!ownedBy(record, fence)) return { next: undefined, answer: false };
  const untilMs = nowMs + leaseMs;
  return { next: { ...record, untilMs, expiresMs: Math.max(record.expiresMs, untilMs) }, answer: true };
}

/** Ends a claim. */
export function finishStep(record: ClaimRecord | undefined, finish: Finish, nowMs: number): Step<boolean> {
  if (!ownedBy(record, finish.claim.fence)) return { next: undefined, answer: false };
  const failed = finish.state === 'FAILED';
  const nothingActed = failed && finish.nothingActed === true;
  // What nobody wants has nothing to wait for.
  const delayMs = nothingActed && record.result === unwanted ? 0 : finish.delayMs;
  const untilMs = failed ? nowMs + delayMs : 0;
  const expiresMs = Math.max(nowMs + finish.ttlMs, untilMs);
  const result = failed ? record.result : finish.result;
  const firstSentMs = nothingActed ? 0 : record.firstSentMs;
  return { next: { ...record, state: finish.state, untilMs, expiresMs, firstSentMs, result }, answer: true };
}

/** Nobody wants the call any more: whoever is granted it next is told so. */
export function cancelStep(record: ClaimRecord | undefined, ttlMs: number, nowMs: number): Step<Cancelled> {
  const expiresMs = Math.max(record?.expiresMs ?? 0, nowMs + ttlMs);
  if (record === undefined) {
    const none = { fence: 0, untilMs: 0, takeovers: 0, round: 0, firstSentMs: 0, origin: '' };
    return { next: { state: 'FAILED', ...none, expiresMs, result: unwanted }, answer: 'kept' };
  }
  if (record.state === 'PROCESSED' || record.state === 'DEAD') return { next: undefined, answer: 'ended' };
  // It has nothing to wait for any more, unless it may have acted.
  const kept = record.state === 'FAILED' && record.firstSentMs === 0;
  const untilMs = kept ? 0 : record.untilMs;
  return { next: { ...record, untilMs, expiresMs, result: unwanted }, answer: kept ? 'kept' : 'told' };
}

/** What may be told of a record. */
export function viewOf(record: ClaimRecord | undefined): ClaimView {
  switch (record?.state) {
    case undefined:
      return { kind: 'unknown' };
    case 'PENDING':
      return { kind: 'pending' };
    case 'FAILED':
      return { kind: 'failed' };
    case 'PROCESSED':
      return { kind: 'processed', origin: record.origin, result: record.result };
    case 'DEAD':
      return { kind: 'dead', origin: record.origin, result: record.result };
  }
}

function ownedBy(record: ClaimRecord | undefined, fence: number): record is ClaimRecord {
  return record?.state === 'PENDING' && record.fence === fence;
}
