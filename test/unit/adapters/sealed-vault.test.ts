import { of } from 'rxjs';
import { expect, it } from 'vitest';

import { SealedVault, SecretBox } from '../../../src/adapters/system/sealed-vault.ts';
import type { EntryStore, VaultEntry } from '../../../src/ports/vault.ts';
import { collect } from '../../support/collect.ts';

/** One entry, written under its version; `writes` counts the tries. */
function oneEntry() {
  let kept: VaultEntry | undefined;
  const seen = { writes: 0 };
  const store: EntryStore = {
    read: () => of(kept),
    write: (_, text, ifVersion) => {
      seen.writes += 1;
      if ((kept?.version ?? 0) !== ifVersion) return of(false);
      kept = { text, version: ifVersion + 1 };
      return of(true);
    },
  };
  return { store, seen };
}

it('an entry whose key is gone is none to read, and is written over at once', () => {
  const { store, seen } = oneEntry();
  collect(new SealedVault(store, new SecretBox(['lost'])).replace('place', 'old', 1_000));
  const vault = new SealedVault(store, new SecretBox(['new']));
  expect(collect(vault.read('place')).values).toEqual([undefined]);

  expect(collect(vault.replace('place', 'text', 1_000)).values).toEqual([true]);
  expect(seen.writes).toBe(2);
  expect(collect(vault.read('place')).values).toEqual([{ text: 'text', version: 2 }]);
});

it('what another writes between the look and the write is written over by a second look', () => {
  const { store, seen } = oneEntry();
  const other = new SealedVault(store, new SecretBox(['key']));
  let looks = 0;
  const crossed: EntryStore = {
    ...store,
    read: (key) => {
      const entry$ = store.read(key);
      if (looks++ === 0) collect(other.replace(key, 'theirs', 1_000));
      return entry$;
    },
  };
  const vault = new SealedVault(crossed, new SecretBox(['key']));
  expect(collect(vault.replace('place', 'ours', 1_000)).values).toEqual([true]);
  expect(collect(vault.read('place')).values).toEqual([{ text: 'ours', version: 2 }]);
  expect(seen.writes).toBe(3);
});
