import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import type { Job } from '../../../src/pipeline/job.ts';
import { Lines } from '../../../src/pipeline/lines.ts';
import type { Received } from '../../../src/pipeline/received.ts';
import { hold } from '../../../src/pipeline/stages/hold.ts';
import type { ParkedCall, ParkedRegister } from '../../../src/ports/parked-register.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const partition = { topic: 'retry.10s', partition: 3, epoch: 1 };
const first = { topic: 'calls', partition: 3, offset: 7, timestampMs: 0 };
/** The seventh call of its partition, out of a delay topic. */
const received = { partition, record: { offset: 90 }, held: { dueMs: 0, first } } as unknown as Received;

/** A register of one partition, of which the test decides who owns it. */
function registerOf(calls: ParkedCall[]) {
  const asked: string[] = [];
  const state = { fence: 0, calls, ours: true };
  const register: ParkedRegister = {
    open: () => {
      asked.push('open');
      return of({ fence: ++state.fence, calls: [...state.calls] });
    },
    put: (_, call) => {
      state.calls = [...state.calls, call];
      return of(true);
    },
    remove: ({ fence }, offset) => {
      asked.push('remove');
      if (fence !== state.fence) return of(false);
      state.calls = state.calls.filter((call) => call.offset !== offset);
      return of(true);
    },
    ready: () => true,
  };
  const clock = new VirtualTime();
  const lines = new Lines({ register, brokerClock: clock, clusterId: () => 'c', holds: () => state.ours });
  return { lines, state, asked, clock };
}

const outside: ParkedCall = { key: 'k', offset: 7, dueMs: 0 };

describe('the line of a key', () => {
  it('goes on behind a call whose ending came before anybody read who is outside', () => {
    const { lines, state } = registerOf([outside]);
    lines.unpark(received)?.subscribe();

    expect(state.calls).toEqual([]);
  });

  it('goes on although somebody else had the partition between the reading and the ending', () => {
    const { lines, state, asked } = registerOf([outside]);
    lines.read(partition).subscribe();
    state.fence++;
    lines.unpark(received)?.subscribe();

    expect(state.calls).toEqual([]);
    expect(asked).toEqual(['open', 'remove', 'open', 'remove']);
  });

  it('goes on behind a call that was written down and could not leave: it is forgotten with its ending', () => {
    const { lines, state } = registerOf([]);
    const own = { partition, record: { offset: 7 } } as unknown as Received;
    const job = { received: own, orderingKey: 'k' } as unknown as Job;
    lines.leaves(job, 10_000);
    lines.park(job, 10_000).subscribe();
    expect(state.calls).toHaveLength(1);
    lines.stays(job);
    lines.unpark(own)?.subscribe();

    expect(state.calls).toEqual([]);
    expect(lines.calls).toBe(0);
  });

  it('of a call that stays before it is written down has nothing to forget', () => {
    const { lines, asked } = registerOf([]);
    const own = { partition, record: { offset: 7 } } as unknown as Received;
    const job = { received: own, orderingKey: 'k' } as unknown as Job;
    lines.read(partition).subscribe();
    lines.leaves(job, 10_000);
    expect(lines.calls).toBe(1);
    lines.stays(job);

    expect([lines.calls, lines.unpark(own)]).toEqual([0, undefined]);
    expect(asked).toEqual(['open']);
  });

  it('goes on behind a call that ended while it was on its way out, also where nobody has read by then who is outside', () => {
    const { lines } = registerOf([]);
    const own = { partition, record: { offset: 7 } } as unknown as Received;
    lines.leaves({ received: own, orderingKey: 'k' } as unknown as Job, 10_000);
    lines.unpark(own)?.subscribe();
    lines.read(partition).subscribe();

    expect(lines.calls).toBe(0);
  });

  it('is left to its next owner when the partition is lost: nothing is read or changed any more', () => {
    const { lines, state, asked } = registerOf([outside]);
    state.ours = false;
    lines.unpark(received)?.subscribe();

    expect(asked).toEqual([]);
    expect(state.calls).toEqual([outside]);
  });

  it('is not read for a call whose partition was lost while it waited for its turn', () => {
    const { lines, state, asked, clock } = registerOf([]);
    state.ours = false;
    const backMs: number[] = [];
    const job = {
      kind: 'call',
      received,
      orderingKey: 'k',
      waits: () => undefined,
      fitsOutside: true,
      plan: { repeat: { kind: 'safe' } },
    } as unknown as Job;
    const turns = { back: (_: Job, __: unknown, atMs: number) => backMs.push(atMs) };
    const context = { lines, clock, turns, minWorkMs: 0, log: undefined } as unknown as Parameters<typeof hold>[0];
    of({ item: job, again: () => undefined, join: () => undefined, done: () => undefined })
      .pipe(hold(context))
      .subscribe();

    expect(asked).toEqual([]);
    expect(backMs).toEqual([clock.now()]);
  });
});
