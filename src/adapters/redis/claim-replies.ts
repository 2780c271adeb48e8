import type { Cancelled, ClaimReply, ClaimView } from '../../ports/claim-store.ts';

import type { ReplyReader } from './step-batches.ts';

// How `scripts/claims.lua` answers, step by step.

/** Whether an extension or a finish took hold. */
export function readFlag(reply: ReplyReader): boolean {
  return reply.number() === 1;
}

/** What came of a claim. */
export function readClaim(reply: ReplyReader): ClaimReply {
  const code = reply.number();
  switch (code) {
    case 0:
      return { kind: 'granted', fence: 1, firstSentAgoMs: undefined, takeovers: 0 };
    case 1: {
      const fence = reply.number();
      const agoMs = reply.number();
      const firstSentAgoMs = agoMs < 0 ? undefined : agoMs;
      const granted = { kind: 'granted', fence, firstSentAgoMs, takeovers: reply.number() } as const;
      return readFlag(reply) ? { ...granted, cancelled: true } : granted;
    }
    case 2:
      return { kind: 'processed', origin: reply.text(), result: reply.text() };
    case 3:
      return { kind: 'pending', waitMs: reply.number() };
    case 4:
      return { kind: 'dead', origin: reply.text(), result: reply.text() };
    case 5:
      return { kind: 'not-due', waitMs: reply.number() };
    default:
      throw new TypeError(`the script answered ${code}, which is no claim reply`);
  }
}

const cancelledKinds = ['ended', 'kept', 'told'] as const;

/** What came of a cancellation. */
export function readCancelled(reply: ReplyReader): Cancelled {
  const code = reply.number();
  const kind = cancelledKinds[code];
  if (kind === undefined) throw new TypeError(`the script answered ${code}, which is no end of a cancellation`);
  return kind;
}

const viewKinds = ['unknown', 'pending', 'failed', 'processed', 'dead'] as const;

/** What is known of an id. */
export function readView(reply: ReplyReader): ClaimView {
  const code = reply.number();
  const kind = viewKinds[code];
  if (kind === undefined) throw new TypeError(`the script answered ${code}, which is no view`);
  switch (kind) {
    case 'unknown':
    case 'pending':
    case 'failed':
      return { kind };
    case 'processed':
    case 'dead':
      return { kind, origin: reply.text(), result: reply.text() };
  }
}
