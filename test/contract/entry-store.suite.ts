import { firstValueFrom } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { EntryStore } from '../../src/ports/vault.ts';

/** What every store of sealed entries promises. @param wait lets its clock go on */
export function entryStoreSuite(
  name: string,
  open: () => Promise<{ store: EntryStore; wait: (ms: number) => Promise<void>; close: () => Promise<void> }>,
): void {
  describe(`entry store: ${name}`, () => {
    let opened: Awaited<ReturnType<typeof open>>;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());
    const read = (key: string) => firstValueFrom(opened.store.read(key));
    const write = (key: string, text: string, ifVersion: number, ttlMs = 60_000) =>
      firstValueFrom(opened.store.write(key, text, ifVersion, ttlMs));

    it('keeps what was written, and counts how often', async () => {
      expect(await read('a')).toBeUndefined();
      expect(await write('a', 'one\ntwo', 0)).toBe(true);
      expect(await read('a')).toEqual({ version: 1, text: 'one\ntwo' });
      expect(await write('a', '', 1)).toBe(true);
      expect(await read('a')).toEqual({ version: 2, text: '' });
    });

    it('writes nothing for who has not read the newest', async () => {
      await write('b', 'first', 0);
      expect(await write('b', 'second', 0)).toBe(false);
      expect(await write('b', 'second', 2)).toBe(false);
      expect(await read('b')).toEqual({ version: 1, text: 'first' });
    });

    it('of many who write at once one is told yes', async () => {
      const told = await Promise.all(Array.from({ length: 20 }, (_, n) => write('c', `w${n}`, 0)));
      expect(told.filter(Boolean)).toHaveLength(1);
    });

    it('forgets when the time is over', async () => {
      await write('d', 'short', 0, 50);
      await opened.wait(120);
      expect(await read('d')).toBeUndefined();
      expect(await write('d', 'again', 0)).toBe(true);
    });
  });
}
