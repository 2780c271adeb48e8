import { of, tap } from 'rxjs';
import { describe, expect, it } from 'vitest';

import type { Job } from '../../../src/pipeline/job.ts';
import type { Received } from '../../../src/pipeline/received.ts';
import { hold } from '../../../src/pipeline/stages/hold.ts';

const minWorkMs = 100;

/** What becomes of a call that is back before an earlier one of its key was read, on a clock that goes on with each look. */
function early({ hasRoom, leftMs }: { readonly hasRoom: boolean; readonly leftMs: number }) {
  let nowMs = 0;
  let waitingFor: string | undefined;
  const clock = { now: () => (nowMs += 0.01), wall: () => 0 };
  const became = { left: false, lookedAtMs: undefined as number | undefined, outOfTime: false };
  const job = {
    kind: 'call',
    received: { partition: { topic: 'retry.10s', partition: 0, epoch: 1 } } as unknown as Received,
    orderingKey: 'k',
    deadlineMs: leftMs,
    attemptsMade: 0,
    get waitingFor() {
      return waitingFor;
    },
    waits: (why: string) => void (waitingFor = why),
    fitsOutside: true,
    outOfTime: false,
    plan: { repeat: { kind: 'safe' } },
  } as unknown as Job;
  const context = {
    clock,
    minWorkMs,
    lanes: { hasRoom },
    overflow: { isEarly: () => true },
    lines: { of: () => ({}), ahead: () => undefined, mayLeave: () => true },
    turns: { back: (_: Job, __: unknown, atMs: number) => void (became.lookedAtMs = atMs) },
  } as unknown as Parameters<typeof hold>[0];
  of({ item: job, again: () => undefined, join: () => undefined, done: () => undefined })
    .pipe(
      hold(context),
      tap((next) => (became.left = 'ending' in next && next.ending.kind === 'held')),
    )
    .subscribe();
  became.outOfTime = job.outOfTime;
  return became;
}

describe('a call that is back before an earlier one of its key was read', () => {
  it('leaves where the lanes have no room, also while the clock goes on', () => {
    expect(early({ hasRoom: false, leftMs: 60_000 })).toMatchObject({ left: true, outOfTime: false });
  });

  it('looks again soon where they have room, and where it has no time to leave', () => {
    for (const [hasRoom, leftMs] of [
      [true, 60_000],
      [false, 10_000],
      [false, 301],
    ] as const) {
      const { left, lookedAtMs, outOfTime } = early({ hasRoom, leftMs });
      expect({ left, outOfTime }).toEqual({ left: false, outOfTime: false });
      expect(lookedAtMs).toBeCloseTo(200, 0);
    }
  });

  it('is out of time when no attempt fits any more, not before', () => {
    expect(early({ hasRoom: false, leftMs: minWorkMs + 50 })).toMatchObject({ outOfTime: false });
    expect(early({ hasRoom: false, leftMs: minWorkMs - 1 })).toMatchObject({ outOfTime: true });
  });
});
