import { copyFileSync, mkdtempSync, openSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { closeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { damageOf } from '../../../../src/adapters/embedded/database-check.ts';
import { type Embedded, openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import { systemClock, systemTimers } from '../../../../src/adapters/system/clock.ts';
import { only } from '../../../support/only.ts';
import { noLogger } from '../../../support/silent.ts';

const page = 4_096;
const machine = { clock: systemClock, timers: systemTimers, logger: noLogger };
const openHere = (data: string): Embedded =>
  openEmbedded({ data, ...machine, topics: [{ name: 'calls', partitions: 2 }] });

let folder: string;
let database: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'larkspur-damage-'));
  const house = openHere(folder);
  // Small values that share pages, large ones with pages of their own, and enough of both for trees of some depth.
  const writes = Array.from({ length: 1_500 }, (_, i) => [
    only(
      house.sink.append({
        topic: 'calls',
        key: Buffer.from(`k${i}`),
        value: Buffer.alloc(i % 10 === 0 ? 9_000 : 200, 'x'),
        headers: [],
      }),
    ),
    only(house.claims.claim({ id: `id-${i}`, origin: 'o', leaseMs: 1_000, ttlMs: 1e9, sent: true })),
  ]);
  await Promise.all(writes.flat());
  await house.close();
  database = join(folder, 'db', 'data.mdb');
  copyFileSync(database, join(folder, 'whole.mdb'));
}, 30_000);
afterAll(() => rmSync(folder, { recursive: true }));

/** The database as it was, then damaged. */
function damaged(how: (file: string, pages: number) => void): void {
  copyFileSync(join(folder, 'whole.mdb'), database);
  how(database, statSync(database).size / page);
}

function overwrite(file: string, at: number, bytes: Buffer): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}

const refused = (): unknown => {
  try {
    void openHere(folder).close();
    return undefined;
  } catch (error) {
    return error;
  }
};

describe('a data folder whose database', () => {
  it('is whole is opened', async () => {
    damaged(() => undefined);
    expect(damageOf(database)).toBeUndefined();
    await openHere(folder).close();
  });

  it.each([0.1, 0.5, 0.9])('was cut to %f of its length is refused with a cure', (share) => {
    damaged((file, pages) => truncateSync(file, Math.floor(pages * share) * page));
    expect(refused()).toMatchObject({ code: 'data_folder_damaged', cure: expect.stringContaining('copy') as string });
  });

  it('was cut within its first page is refused', () => {
    damaged((file) => truncateSync(file, 100));
    expect(refused()).toMatchObject({ code: 'data_folder_damaged' });
  });

  it('is of another kind is refused', () => {
    damaged((file) => writeFileSync(file, 'not a database '.repeat(2_000)));
    expect(refused()).toMatchObject({ code: 'data_folder_damaged' });
  });

  it('was overwritten in the middle is refused', () => {
    damaged((file, pages) => overwrite(file, Math.floor(pages / 2) * page, Buffer.alloc(20 * page, 0xa5)));
    expect(refused()).toMatchObject({ code: 'data_folder_damaged' });
  });

  it('lost any page that is in use is found out, whatever stands there now', () => {
    const fillings = [Buffer.alloc(page), Buffer.alloc(page, 0xff), Buffer.alloc(page, 'text ')];
    let pages = 0;
    damaged((_file, count) => (pages = count));
    const missed: number[] = [];
    for (let at = 0; at < pages; at++) {
      damaged((file) => overwrite(file, at * page, fillings[at % fillings.length] ?? Buffer.alloc(0)));
      if (damageOf(database) === undefined) missed.push(at);
    }
    // Pages that nothing points to, and the tails of large values: neither can lead LMDB astray.
    const tails = 150 * 2;
    expect(pages).toBeGreaterThan(500);
    expect(missed.length).toBeLessThan(tails + 60);
  });
});
