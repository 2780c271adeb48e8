import type { LarkspurError } from '../../model/errors.ts';

/** How values of a table become bytes and back. */
export interface Codec<V> {
  encode(value: V): Buffer;
  decode(bytes: Buffer): V;
}

/** Values by key. Reads see all earlier writes of this process at once, durable or not. Values are never changed in place. */
export interface Table<V> {
  get(key: string): V | undefined;
  put(key: string, value: V): void;
  remove(key: string): void;
  /** All rows, in no promised order; tolerates changes while it is walked, which it may or may not show. */
  rows(): IterableIterator<readonly [key: string, value: V]>;
}

/** Blobs by offset. Unlike a {@link Table}, reads see only what is durable: nothing may act on a record that could vanish. */
export interface BlobLog {
  put(offset: number, blob: Buffer): void;
  /** Durable blobs from `offset` on, ascending. Stopping early is fine. */
  from(offset: number): IterableIterator<readonly [offset: number, blob: Buffer]>;
  first(): number | undefined;
  last(): number | undefined;
  remove(offset: number): void;
}

/**
 * The database under the embedded house. Writes are gathered and made durable together, in the order they were called:
 * after a crash all of a group stand or none.
 */
export interface Store {
  /** Names this data in origins; stable over restarts. */
  readonly clusterId: string;
  /** Resolves with the error when the files are no longer this process's; never while all is well, or writes fail for a while. */
  readonly lost: Promise<LarkspurError>;
  table<V>(name: string, codec: Codec<V>): Table<V>;
  log(topic: string, partition: number): BlobLog;
  /** Calls `done` once everything written so far is durable; at once when it is already. */
  whenDurable(done: () => void): void;
  /** `false` while writes fail (disk full): they are held and tried again. */
  ready(): boolean;
  /** Makes everything durable and lets go of the files. */
  close(): Promise<void>;
}

/** Plain JSON, for small and rare values. */
export function jsonCodec<V>(): Codec<V> {
  return {
    encode: (value) => Buffer.from(JSON.stringify(value)),
    decode: (bytes) => JSON.parse(bytes.toString()) as V,
  };
}
