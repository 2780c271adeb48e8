import { readFile } from 'node:fs/promises';

import { LarkspurError, messageOf } from '../../model/errors.ts';
import type { Timers } from '../../ports/clock.ts';
import type { RuleSource } from '../../ports/rule-source.ts';
import { inTime } from '../system/in-time.ts';

/** Which file, and how to read its text. */
export interface FileRuleSourceOptions {
  readonly file: string;
  /** The list in a text; throws with what is wrong. */
  readonly parse: (text: string) => readonly unknown[];
  readonly timeoutMs: number;
  readonly timers: Timers;
}

/** {@link RuleSource} in a file, which may lie on a disk of the network. */
export class FileRuleSource implements RuleSource {
  readonly name: string;
  readonly #options: FileRuleSourceOptions;

  constructor(options: FileRuleSourceOptions) {
    this.name = options.file;
    this.#options = options;
  }

  async readAll(): Promise<readonly unknown[]> {
    const { file, parse, timeoutMs, timers } = this.#options;
    try {
      const late = (): Error => new Error(`not read within ${timeoutMs} ms`);
      return parse(await inTime(readFile(file, 'utf8'), timeoutMs, timers, late));
    } catch (error) {
      throw new LarkspurError('rules_unavailable', `${file}: ${messageOf(error)}`, {
        cure: 'correct the file that routeTable.file names; the rules that are known stay until then',
        retryable: true,
        cause: error,
      });
    }
  }
}
