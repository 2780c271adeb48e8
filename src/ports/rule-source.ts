/** Where rules are kept by people: a file, a table. */
export interface RuleSource {
  /** For people, without password. */
  readonly name: string;
  /**
   * All rules as they are written, unchecked, in the words of `routes`. Rejects with a `LarkspurError` where they cannot be read
   * within the time limit of the source.
   */
  readAll(): Promise<readonly unknown[]>;
}
