import { randomUUID } from 'node:crypto';
import { once } from 'node:events';

import { expect, it } from 'vitest';

import { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { loadScript } from '../../../src/adapters/redis/scripts.ts';
import { StepBatches } from '../../../src/adapters/redis/step-batches.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { describeWithRedis } from '../../support/services/provided.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../support/virtual-time.ts';

/** Resolves with the next rejection that nobody handles; in the product it ends the process. */
function nextUnhandled(): Promise<unknown> {
  const usual = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  return new Promise((resolve) => {
    process.once('unhandledRejection', (reason) => {
      for (const listener of usual) process.on('unhandledRejection', listener);
      resolve(reason);
    });
  });
}

describeWithRedis('steps of a batched script', (url) => {
  it('are carried out and answered once, also where somebody cannot take the answer', async () => {
    const time = new VirtualTime();
    const world = { clock: systemClock, timers: time, random: seededRandom(1), logger: noLogger, metrics: noMetrics };
    const connection = new RedisConnection({ url, ...world });
    await once(connection.client, 'ready');
    const batches = new StepBatches(connection, loadScript('parked'), () => [], noLogger);
    const fences: number[] = [];
    const step = { key: `t:${randomUUID()}`, tag: '', args: ['o'], bytes: 1, dropped: false };
    const unhandled = nextUnhandled();
    batches.add({
      ...step,
      answer: (reply) => {
        fences.push(reply.number());
        throw new RangeError('it cannot take the answer');
      },
    });
    await expect.poll(() => fences.length, { timeout: 5_000 }).toBeGreaterThan(0);
    // Longer than a step without an answer waits for its next try.
    time.advance(1_000);
    const next = new Promise<number>((resolve) => {
      batches.add({ ...step, answer: (reply) => resolve(reply.number()) });
    });

    expect(await next).toBe(2);
    expect(fences).toEqual([1]);
    expect(await unhandled).toBeInstanceOf(RangeError);
    batches.close();
    await connection.close();
  });
});
