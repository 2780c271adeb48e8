import type { RuleSnapshot } from '../model/rule.ts';

/** What stands in a bucket: its text, nothing although all rules are there, or nobody knows because they are gone. */
export type Shelved = { readonly kind: 'rules'; readonly text: string } | { readonly kind: 'none' | 'gone' };

/** What is known of a snapshot without reading it. */
export interface ShelfState {
  readonly exportedAtMs: number;
  /** How long it still stands there. */
  readonly leftMs: number;
}

/**
 * The rules that all processes share, as they were last exported. A snapshot goes by itself when its time is over.
 *
 * Promises: a bucket is read as it was written, whole; a snapshot under an older fence replaces nothing; one whose writing broke off
 * does not count as written: `state` and `readAll` do not give it. All methods reject
 * with a `LarkspurError` while the shelf cannot be asked, within its time limit.
 */
export interface RuleShelf {
  /** @param spread reads one of several copies, chosen by this process: for a bucket that everybody asks for all the time */
  read(bucket: string, spread: boolean): Promise<Shelved>;
  /** The whole snapshot; `undefined`: there is none. */
  readAll(): Promise<RuleSnapshot | undefined>;
  state(): Promise<ShelfState | undefined>;
  /** Puts a snapshot in place of the one before. `false`: a newer one stands there. */
  write(snapshot: RuleSnapshot, fence: number, ttlMs: number): Promise<boolean>;
  /** Lets what stands there stand for so long from now on. `false`: there is nothing, or not all of one snapshot. */
  renew(ttlMs: number): Promise<boolean>;
  /** Whether it can be asked at present. */
  ready(): boolean;
}
