import { describe, expect, it } from 'vitest';

import { SendGate } from '../../../../src/adapters/kafka/send-gate.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

/** Starts `count` sends at a gate; each takes `ms` of virtual time. */
function sends(gate: SendGate, time: VirtualTime, count: number, ms: number) {
  const started: number[] = [];
  let under = 0;
  let most = 0;
  for (let n = 0; n < count; n++) {
    void gate.enter().then(async (leave) => {
      started.push(n);
      most = Math.max(most, ++under);
      await new Promise<void>((resolve) => void time.after(ms, resolve));
      under--;
      leave();
      leave();
    });
  }
  return { started, most: () => most };
}

describe('SendGate', () => {
  it('lets no more sends than its limit be under way, first come first served', async () => {
    const time = new VirtualTime();
    const { started, most } = sends(new SendGate(3, time), time, 10, 20);

    await time.advanceAsync(10);
    expect(started).toEqual([0, 1, 2]);
    await time.advanceAsync(1_000);
    expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(most()).toBe(3);
  });

  it('lets others past sends that get no answer for 100 ms', async () => {
    const time = new VirtualTime();
    const { started } = sends(new SendGate(2, time), time, 4, 60_000);

    await time.advanceAsync(99);
    expect(started).toEqual([0, 1]);
    await time.advanceAsync(2);
    expect(started).toEqual([0, 1, 2, 3]);
  });
});
