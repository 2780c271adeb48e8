import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

import { map, mergeMap, type Observable, of } from 'rxjs';

import type { EntryStore, Vault, VaultEntry } from '../../ports/vault.ts';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Seals texts with AES-256-GCM under keys made of passphrases: new ones with the first, opened with any. The place that a
 * text belongs to is bound to it, so that a sealed text which is put elsewhere does not open.
 */
export class SecretBox {
  readonly #keys: readonly Buffer[];

  /** @param passphrases the current one first, then those that it replaces; 1 or more */
  constructor(passphrases: readonly string[]) {
    this.#keys = passphrases.map((text) => createHash('sha256').update(text).digest());
  }

  seal(text: string, place: string): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, this.#keys[0] ?? Buffer.alloc(0), iv).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return `v1.${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  }

  /** `undefined` for what was not sealed for this place with one of the keys. */
  open(sealed: string, place: string): string | undefined {
    const [version, body = ''] = sealed.split('.');
    const bytes = Buffer.from(body, 'base64url');
    if (version !== 'v1' || bytes.length < ivBytes + tagBytes) return undefined;
    for (const key of this.#keys) {
      try {
        const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes))
          .setAAD(Buffer.from(place))
          .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
        return decipher.update(bytes.subarray(ivBytes + tagBytes)).toString('utf8') + decipher.final('utf8');
      } catch {
        // Of another key.
      }
    }
    return undefined;
  }
}

/** A {@link Vault} that seals what it hands to a store. */
export class SealedVault implements Vault {
  readonly #store: EntryStore;
  readonly #box: SecretBox;

  constructor(store: EntryStore, box: SecretBox) {
    this.#store = store;
    this.#box = box;
  }

  read(key: string): Observable<VaultEntry | undefined> {
    return this.#store.read(key).pipe(
      map((entry) => {
        const text = entry === undefined ? undefined : this.#box.open(entry.text, key);
        return entry === undefined || text === undefined ? undefined : { version: entry.version, text };
      }),
    );
  }

  write(key: string, text: string, ifVersion: number, ttlMs: number): Observable<boolean> {
    return this.#store.write(key, this.#box.seal(text, key), ifVersion, ttlMs);
  }

  replace(key: string, text: string, ttlMs: number): Observable<true> {
    return this.#store.read(key).pipe(
      mergeMap((entry) => this.write(key, text, entry?.version ?? 0, ttlMs)),
      mergeMap((ours) => (ours ? of(true as const) : this.replace(key, text, ttlMs))),
    );
  }
}
