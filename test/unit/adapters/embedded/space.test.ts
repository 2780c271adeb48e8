import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import { only } from '../../../support/only.ts';
import { noLogger } from '../../../support/silent.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

// Virtual time flushes a minute's worth in a moment: on a busy disk that would measure the disk.
const memoryDisk = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(memoryDisk, 'larkspur-space-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

// The load of a round: a minute of virtual time.
const perRound = 1_200;
const roundMs = 60_000;

describe('the file of a data folder', () => {
  it('stops growing under a steady load: what retention and expired claims leave is used again', async () => {
    const time = new VirtualTime();
    const house = openEmbedded({
      data: folder,
      clock: time,
      timers: time,
      logger: noLogger,
      topics: [{ name: 'calls', partitions: 2, retentionMs: 3 * roundMs }],
    });
    const sizes: number[] = [];
    for (let round = 0; round < 12; round++) {
      const writes = Array.from({ length: perRound }, (_, i) => {
        const id = `${round}-${i}`;
        const value = Buffer.alloc(300 + (i % 5) * 700, 'x');
        return [
          only(house.sink.append({ topic: 'calls', key: Buffer.from(id), value, headers: [] })),
          only(house.claims.claim({ id, origin: 'o', leaseMs: 1_000, ttlMs: 3 * roundMs, sent: true })),
        ];
      });
      await Promise.all(writes.flat());
      for (let step = 0; step < 60; step++) {
        time.advance(roundMs / 60);
        // Commits leave the turn of the event loop; freed pages are free for the transaction after.
        await new Promise((resolve) => setImmediate(resolve));
      }
      sizes.push(statSync(join(folder, 'db', 'data.mdb')).size);
    }
    await house.close();
    const [early, late] = [Math.max(...sizes.slice(0, 6)), Math.max(...sizes)];
    expect(late).toBeLessThanOrEqual(early * 1.1);
    // It holds some rounds, not all of them.
    expect(late).toBeLessThan(perRound * 12 * 1_700 * 0.8);
  }, 120_000);

  it('keeps few claims beyond their time, also at thousands a second', async () => {
    const time = new VirtualTime();
    const house = openEmbedded({ data: folder, clock: time, timers: time, logger: noLogger, topics: [] });
    const [perSecond, seconds, lifeSeconds] = [2_000, 30, 3];
    for (let second = 0; second < seconds; second++) {
      const claims = Array.from({ length: perSecond }, (_, i) =>
        only(house.claims.claim({ id: `${second}-${i}`, origin: 'o', leaseMs: 100, ttlMs: 3_000, sent: true })),
      );
      await Promise.all(claims);
      for (let step = 0; step < 20; step++) {
        time.advance(50);
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    await house.close();
    const kept = rowsIn(folder, 'claims');
    expect(kept).toBeGreaterThanOrEqual((lifeSeconds - 1) * perSecond);
    expect(kept).toBeLessThan(2.5 * lifeSeconds * perSecond);
  }, 120_000);

  it('keeps entries no longer than a minute beyond their time, though nobody looks at them again', async () => {
    const time = new VirtualTime();
    const house = openEmbedded({ data: folder, clock: time, timers: time, logger: noLogger, topics: [] });
    const [perMinute, minutes, lifeMinutes] = [500, 30, 10];
    for (let minute = 0; minute < minutes; minute++) {
      const writes = Array.from({ length: perMinute }, (_, i) =>
        only(house.entries.write(`oauth/${minute}-${i}`, 'begun', 0, lifeMinutes * 60_000)),
      );
      time.advance(60_000);
      await new Promise((resolve) => setImmediate(resolve));
      await Promise.all(writes);
    }
    await house.close();
    const kept = rowsIn(folder, 'entries');
    expect(kept).toBeGreaterThanOrEqual((lifeMinutes - 1) * perMinute);
    expect(kept).toBeLessThanOrEqual((lifeMinutes + 2) * perMinute);
  });
});

function rowsIn(data: string, table: string): number {
  const env = open<Buffer, Buffer>({ path: join(data, 'db'), maxDbs: 16, encoding: 'binary', keyEncoding: 'binary' });
  try {
    return env.openDB<Buffer, Buffer>({ name: table, encoding: 'binary', keyEncoding: 'binary' }).getCount();
  } finally {
    void env.close();
  }
}
