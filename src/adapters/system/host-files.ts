import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Clock } from '../../ports/clock.ts';

// One page of metrics asks for the same few files many times.
const keptMs = 200;

/** What the kernel tells in small text files. What is not there is told by `undefined`: not every system has everything. */
export class HostFiles {
  readonly #clock: Clock;
  readonly #root: string;
  readonly #kept = new Map<string, { readonly atMs: number; readonly text: string }>();

  /** @param root where `proc` and `sys` are; another one for tests */
  constructor(clock: Clock, root = '/') {
    this.#clock = clock;
    this.#root = root;
  }

  /** The text of a file; empty when it cannot be read. */
  text(path: string): string {
    const nowMs = this.#clock.now();
    const kept = this.#kept.get(path);
    if (kept !== undefined && nowMs - kept.atMs < keptMs) return kept.text;
    const text = read(join(this.#root, path));
    this.#kept.set(path, { atMs: nowMs, text });
    return text;
  }

  /** How many entries a folder has. */
  count(path: string): number | undefined {
    try {
      return readdirSync(join(this.#root, path)).length;
    } catch {
      return undefined;
    }
  }

  /** The number after a word at the start of a line: `MemTotal: 16 kB`, `nr_throttled 3`. */
  valueOf(path: string, word: string): number | undefined {
    return numberIn(new RegExp(`^${word}:?\\s+(-?\\d+)`, 'm').exec(this.text(path))?.[1]);
  }

  /** The whole file as a number; `undefined` for `max` and anything else that is none. */
  number(path: string): number | undefined {
    const text = this.text(path).trim();
    return text === '' ? undefined : numberIn(text);
  }

  /** A field of a line that begins with a word, counted from 1 behind it: `cpu  1 2 3`. */
  field(path: string, word: string, nth: number): number | undefined {
    const line = this.text(path)
      .split('\n')
      .find((one) => one.trimStart().startsWith(word));
    return numberIn(line?.trim().split(/\s+/)[nth]);
  }

  /** A member of the two-line tables of `/proc/net/snmp`: names, then values. */
  counter(path: string, table: string, name: string): number | undefined {
    const [names, values] = this.text(path)
      .split('\n')
      .filter((line) => line.startsWith(`${table}:`))
      .map((line) => line.split(' '));
    const at = names?.indexOf(name) ?? -1;
    return at < 1 ? undefined : numberIn(values?.[at]);
  }

  /** How long somebody waited for a resource, 0 to 1 of the last ten seconds: of `some` or of `full`. */
  pressure(resource: 'cpu' | 'io' | 'memory', who: 'some' | 'full'): number | undefined {
    const found = new RegExp(`^${who} avg10=([\\d.]+)`, 'm').exec(this.text(`/proc/pressure/${resource}`))?.[1];
    const percent = numberIn(found);
    return percent === undefined ? undefined : percent / 100;
  }

  /** The sum of one column over the lines that are meant. @param nth column, counted from 0 */
  sum(path: string, isMeant: (columns: readonly string[]) => boolean, nth: number): number | undefined {
    const rows = this.text(path)
      .split('\n')
      .map((line) => line.trim().split(/[\s:]+/))
      .filter((columns) => columns.length > nth && isMeant(columns));
    return rows.length === 0 ? undefined : rows.reduce((sum, columns) => sum + (numberIn(columns[nth]) ?? 0), 0);
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function numberIn(text: string | undefined): number | undefined {
  const value = text === undefined || text === '' ? NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}
