import { join } from 'node:path';

import { type Database, open, type RootDatabase, TransactionFlags } from 'lmdb';

import { LarkspurError, messageOf } from '../../model/errors.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

import { checkDatabase, openDataFolder, unusable } from './data-folder.ts';
import { keepFolder, leaveFolder, renewFolder, takeFolder } from './folder-lock.ts';
import { GroupCommit } from './group-commit.ts';
import type { BlobLog, Codec, Store, Table } from './store.ts';

// Committed without waiting for the disk: the page cache survives the end of the process, however violent.
const commitWithoutSync: TransactionFlags = TransactionFlags.SYNCHRONOUS_COMMIT | TransactionFlags.NO_SYNC_FLUSH;
const syncEveryMs = 1000;
// Without writes only the sign of life is due, well inside the time after which a foreign owner counts as dead.
const quietTicks = 5;

type Bytes = Database<Buffer, Buffer>;

/**
 * A {@link Store} in an LMDB file. Durable means committed to the operating system: it survives `kill -9` at any moment.
 * The disk itself is flushed about once a second, so with the power goes at most the last second; the file stays whole.
 */
export class LmdbStore implements Store {
  readonly clusterId: string;
  readonly lost: Promise<LarkspurError>;
  readonly #env: RootDatabase<Buffer, Buffer>;
  readonly #path: string;
  readonly #blobs: Bytes;
  readonly #commit: GroupCommit;
  #cancelSync: () => void = () => undefined;
  #closed = false;
  #unsynced = false;
  #ticksSinceSync = 0;

  /** Opens a data folder and locks it for this process. Throws `data_folder_locked`, `_unusable`, `_damaged` or `_version`. */
  static open(path: string, timers: Timers, logger: Logger): LmdbStore {
    const { clusterId } = openDataFolder(path);
    checkDatabase(path, join(path, 'db', 'data.mdb'));
    let env: RootDatabase<Buffer, Buffer>;
    try {
      env = open<Buffer, Buffer>({ path: join(path, 'db'), maxDbs: 16, encoding: 'binary', keyEncoding: 'binary' });
    } catch (error) {
      throw unusable(path, error);
    }
    try {
      takeFolder(env, path);
    } catch (error) {
      void env.close();
      throw error;
    }
    return new LmdbStore(env, path, clusterId, timers, logger);
  }

  private constructor(
    env: RootDatabase<Buffer, Buffer>,
    path: string,
    clusterId: string,
    timers: Timers,
    logger: Logger,
  ) {
    this.clusterId = clusterId;
    this.#env = env;
    this.#path = path;
    this.#blobs = openBytes(this.#env, 'blobs');
    let lose = (_error: LarkspurError): void => undefined;
    this.lost = new Promise((resolve) => (lose = resolve));
    this.#commit = new GroupCommit(
      (writes) => {
        // Inside one transaction: a failure leaves none of them.
        this.#env.transactionSync(() => {
          keepFolder(env, path);
          for (const write of writes) write();
        }, commitWithoutSync);
        this.#unsynced = true;
      },
      timers,
      logger,
      lose,
    );
    this.#armSync(timers, logger, lose);
  }

  table<V>(name: string, codec: Codec<V>): Table<V> {
    return new LmdbTable(openBytes(this.#env, name), codec, this.#commit);
  }

  log(topic: string, partition: number): BlobLog {
    return new LmdbLog(this.#blobs, topic, partition, this.#commit);
  }

  whenDurable(done: () => void): void {
    this.#commit.whenDone(done);
  }

  ready(): boolean {
    return this.#commit.healthy;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelSync();
    try {
      this.#commit.close();
      keepFolder(this.#env, this.#path);
      await leaveFolder(this.#env);
    } finally {
      await this.#env.close();
    }
  }

  #armSync(timers: Timers, logger: Logger, lose: (error: LarkspurError) => void): void {
    if (this.#closed) return;
    this.#cancelSync = timers.after(syncEveryMs, () => {
      this.#sync()
        .catch((error: unknown) => {
          // Who writes nothing hears of it here alone.
          if (error instanceof LarkspurError) lose(error);
          logger.warn({ error: messageOf(error) }, 'data folder could not be flushed to disk');
        })
        .finally(() => this.#armSync(timers, logger, lose));
    });
  }

  async #sync(): Promise<void> {
    if (!this.#unsynced && ++this.#ticksSinceSync < quietTicks) return;
    this.#unsynced = false;
    this.#ticksSinceSync = 0;
    keepFolder(this.#env, this.#path);
    await renewFolder(this.#env);
  }
}

function openBytes(env: RootDatabase<Buffer, Buffer>, name: string): Bytes {
  return env.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' });
}

const removed: unique symbol = Symbol('removed');

interface Fresh<V> {
  readonly value: V | typeof removed;
}

class LmdbTable<V> implements Table<V> {
  readonly #db: Bytes;
  readonly #codec: Codec<V>;
  readonly #commit: GroupCommit;
  // What is written but not committed. Identity tells whether a later write has replaced it meanwhile.
  readonly #fresh = new Map<string, Fresh<V>>();

  constructor(db: Bytes, codec: Codec<V>, commit: GroupCommit) {
    this.#db = db;
    this.#codec = codec;
    this.#commit = commit;
  }

  get(key: string): V | undefined {
    const fresh = this.#fresh.get(key);
    if (fresh !== undefined) return fresh.value === removed ? undefined : fresh.value;
    const bytes = this.#db.get(Buffer.from(key));
    return bytes === undefined ? undefined : this.#codec.decode(bytes);
  }

  put(key: string, value: V): void {
    const bytes = this.#codec.encode(value);
    this.#write(key, value, () => this.#db.putSync(Buffer.from(key), bytes));
  }

  remove(key: string): void {
    this.#write(key, removed, () => void this.#db.removeSync(Buffer.from(key)));
  }

  *rows(): IterableIterator<readonly [string, V]> {
    // In slices, each with a read transaction of its own: a long-lived one would keep LMDB from reusing freed pages.
    let start: Buffer | undefined;
    for (;;) {
      const range = start === undefined ? {} : { start, exclusiveStart: true };
      const slice = [...this.#db.getRange({ ...range, limit: 200 })];
      if (slice.length === 0) return;
      for (const { key, value } of slice) yield [key.toString(), this.#codec.decode(value)];
      start = slice.at(-1)?.key;
    }
  }

  #write(key: string, value: V | typeof removed, write: () => void): void {
    const entry: Fresh<V> = { value };
    this.#fresh.set(key, entry);
    this.#commit.add(write, () => {
      if (this.#fresh.get(key) === entry) this.#fresh.delete(key);
    });
  }
}

class LmdbLog implements BlobLog {
  readonly #db: Bytes;
  readonly #commit: GroupCommit;
  readonly #prefix: Buffer;

  constructor(db: Bytes, topic: string, partition: number, commit: GroupCommit) {
    this.#db = db;
    this.#commit = commit;
    // NUL cannot stand in a topic name, so no log's keys lie between those of another.
    this.#prefix = Buffer.concat([Buffer.from(`${topic}\0`), Buffer.of(partition >> 8, partition & 0xff)]);
  }

  put(offset: number, blob: Buffer): void {
    this.#commit.add(() => this.#db.putSync(this.#key(offset), blob));
  }

  *from(offset: number): IterableIterator<readonly [number, Buffer]> {
    const rows = this.#db.getRange({ start: this.#key(offset), end: this.#key(Number.MAX_SAFE_INTEGER) });
    for (const { key, value } of rows) yield [this.#offset(key), value];
  }

  first(): number | undefined {
    for (const [offset] of this.from(0)) return offset;
    return undefined;
  }

  last(): number | undefined {
    const backwards = { start: this.#key(Number.MAX_SAFE_INTEGER), end: this.#key(0), inclusiveEnd: true };
    for (const key of this.#db.getKeys({ ...backwards, reverse: true, limit: 1 })) return this.#offset(key);
    return undefined;
  }

  remove(offset: number): void {
    this.#commit.add(() => void this.#db.removeSync(this.#key(offset)));
  }

  #key(offset: number): Buffer {
    const key = Buffer.allocUnsafe(this.#prefix.length + 8);
    this.#prefix.copy(key);
    key.writeBigUInt64BE(BigInt(offset), this.#prefix.length);
    return key;
  }

  #offset(key: Buffer): number {
    return Number(key.readBigUInt64BE(this.#prefix.length));
  }
}
