import { expect, it } from 'vitest';

import { Batches } from '../../../src/pipeline/batches.ts';
import type { Job } from '../../../src/pipeline/job.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const mostKept = 1_000;
const aheadMs = 500;

/** A call of a shape of its own, as a tenant that asks once. */
function once(n: number, over = false): Job {
  return { plan: { batch: { shape: `tenant-${n}`, most: 50 } }, alone: false, over } as unknown as Job;
}

function batchesOf(time: VirtualTime): Batches {
  return new Batches(() => expect.fail('no lane is asked'), time, time);
}

it.each([
  ['whose time is over', false, 2 * aheadMs],
  ['of calls that have ended', true, 0],
])('starts ahead %s are let go once there are a thousand', (_what, over, passesMs) => {
  const time = new VirtualTime();
  const batches = batchesOf(time);
  for (let round = 0; round < 5; round++) {
    for (let n = 0; n < mostKept; n++) batches.appointed(once(round * mostKept + n, over), time.now() + aheadMs);
    time.advance(passesMs);
    expect(batches.starts).toBeLessThanOrEqual(mostKept);
  }
});

it('starts that are still ahead stay, however many there are: calls of their shapes wait for them', () => {
  const time = new VirtualTime();
  const batches = batchesOf(time);
  for (let n = 0; n < 2 * mostKept; n++) batches.appointed(once(n), time.now() + aheadMs);
  const later = once(0);
  expect(batches.seatOf(later, { shape: 'tenant-0', most: 50 } as never, time.now(), time.now())).toBe(aheadMs);
});
