import { isDeepStrictEqual } from 'node:util';

import type { Config } from '../config/config.ts';
import type { Described } from '../config/describe.ts';
import { isHot, type Overlay } from '../config/overlay.ts';
import { LarkspurError, messageOf } from '../model/errors.ts';

import type { Audit } from './audit.ts';
import type { WorldParts } from './stores.ts';
import { type ConfigSource, watchConfig } from './watch-config.ts';

/** The configuration of a process while it works: what was written, in a file or without one, and what playbooks have put over it. */
export class LiveConfig {
  readonly #source: ConfigSource;
  readonly #audit: Pick<Audit, 'write'>;
  readonly #parts: Pick<WorldParts, 'timers' | 'log' | 'metrics'>;
  readonly #overlays = new Set<Overlay>();
  #apply: (config: Config) => void = () => undefined;
  /** What the file says, without what lies over it. */
  #written: readonly Described[] = [];
  #inForce: readonly Described[] = [];

  constructor(
    source: ConfigSource,
    audit: Pick<Audit, 'write'>,
    parts: Pick<WorldParts, 'timers' | 'log' | 'metrics'>,
  ) {
    this.#source = source;
    this.#audit = audit;
    this.#parts = parts;
  }

  /**
   * Follows the file, if there is one: what it says is applied whenever it has changed, and what has changed stands on `audit`.
   * @param apply may throw; then nothing changes
   * @returns what stops that
   */
  follow(apply: (config: Config) => void): () => void {
    this.#apply = apply;
    const { file, text, described } = this.#source;
    this.#written = described ?? this.#read([]);
    this.#inForce = this.#written;
    if (file === undefined) return () => undefined;
    const load = (): Config => this.#source.load([...this.#overlays]);
    return watchConfig({ file, text, load }, this.#parts, (config) => {
      apply(config);
      this.#remember();
      const before = this.#written;
      this.#written = this.#read([]);
      const changed = changedBetween(before, this.#written);
      if (changed.paths.length > 0) this.#audit.write({ by: `file ${file}`, what: 'config', ...changed.values });
    });
  }

  /** Every value in force and where it came from; secrets are masked. What waits for a restart is as it was at the start. */
  describe(): readonly Described[] {
    return this.#inForce;
  }

  #read(overlays: readonly Overlay[]): readonly Described[] {
    return this.#source.describe?.(overlays) ?? [];
  }

  #remember(): void {
    const before = new Map(this.#inForce.map((line) => [line.path, line]));
    this.#inForce = this.#read([...this.#overlays]).map((line) => {
      const old = before.get(line.path);
      return old === undefined || old.value === line.value || isLive(line.path) ? line : old;
    });
  }

  /**
   * Puts values over the file. Returns what takes them off again; that throws, and the values stay in force, while the file has mistakes.
   * The same values of the same source lie there once.
   * @throws LarkspurError `config_invalid` when the whole is not sound then; nothing has changed
   */
  overlay(source: string, values: Overlay['values']): () => void {
    const overlay: Overlay = { source, values };
    const before = [...this.#overlays];
    const others = before.filter((other) => !isDeepStrictEqual(other, overlay));
    this.#lay([...others, overlay]);
    try {
      this.#take();
    } catch (error) {
      this.#lay(before);
      throw error;
    }
    return () => {
      if (!this.#overlays.delete(overlay)) return;
      try {
        this.#take();
      } catch (error) {
        const why = `${Object.keys(values).join(', ')} of ${source} stay in force until the mistakes in the configuration file are gone`;
        this.#parts.log.error({ source, error: messageOf(error) }, why);
        throw new LarkspurError('config_invalid', why, { cause: error });
      }
    };
  }

  #lay(overlays: readonly Overlay[]): void {
    this.#overlays.clear();
    for (const overlay of overlays) this.#overlays.add(overlay);
  }

  #take(): void {
    this.#apply(this.#source.load([...this.#overlays]));
    this.#remember();
  }
}

/** Routes and promises are taken over with the file, too. */
function isLive(path: string): boolean {
  return isHot(path) || /^routes\b|\.slo\./.test(path);
}

/** What differs between two configurations, by path. */
function changedBetween(before: readonly Described[], after: readonly Described[]) {
  const [old, now] = [before, after].map((lines) => new Map(lines.map(({ path, value }) => [path, value])));
  const paths = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])].filter(
    (path) => old?.get(path) !== now?.get(path),
  );
  const of = (values: ReadonlyMap<string, string> | undefined) =>
    Object.fromEntries(paths.map((path) => [path, values?.get(path) ?? null]));
  return { paths, values: { from: of(old), to: of(now) } };
}
