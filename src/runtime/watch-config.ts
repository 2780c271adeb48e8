import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

import type { Config } from '../config/config.ts';
import type { Described } from '../config/describe.ts';
import type { Overlay } from '../config/overlay.ts';
import { LarkspurError, messageOf } from '../model/errors.ts';

import type { WorldParts } from './stores.ts';

/** Where a configuration came from, and how to load it again. */
export interface ConfigSource {
  /** `undefined`: there is no file; environment, command line and defaults are all. */
  readonly file: string | undefined;
  /** What the file said when it was loaded; default: what it says when somebody begins to watch it. */
  readonly text?: string | undefined;
  /** Every value of that text and where it came from; default: as the file says when somebody begins to watch it. */
  readonly described?: readonly Described[];
  /** @param overlays what lies over it for a time @throws LarkspurError `config_invalid` */
  load(overlays?: readonly Overlay[]): Config;
  /** Every value in force and where it came from. */
  describe?(overlays?: readonly Overlay[]): readonly Described[];
}

const lookEveryMs = 1_000;

/**
 * Looks at the file each second, and at once on SIGHUP, and hands over what it says whenever its text has changed. A file with mistakes, or one that
 * `apply` throws at, changes nothing: the log says why. Returns a function that stops looking.
 */
export function watchConfig(
  source: ConfigSource & { readonly file: string },
  { timers, log, metrics }: Pick<WorldParts, 'timers' | 'log' | 'metrics'>,
  apply: (config: Config) => void,
): () => void {
  const { file } = source;
  const reloads = metrics.counter('larkspur_config_reloads_total', 'Changes of the configuration file', ['outcome']);
  let seen = source.text ?? readNow(file);
  let stopped = false;
  let cancel = (): void => undefined;
  const take = (text: string): void => {
    if (text === seen) return;
    seen = text;
    try {
      apply(source.load());
      reloads.add({ outcome: 'applied' });
      log.info({ file }, 'routes and policies of the changed configuration are in use; all else waits for a restart');
    } catch (error) {
      reloads.add({ outcome: 'refused' });
      const cure = error instanceof LarkspurError ? error.cure : undefined;
      log.warn({ file, error: messageOf(error), cure }, 'the changed configuration has mistakes; the old one stays');
    }
  };
  let looking = false;
  const look = async (): Promise<void> => {
    try {
      take(await readFile(file, 'utf8'));
    } catch {
      // Gone for a moment while somebody replaces it.
    }
    looking = false;
    if (!stopped) cancel = timers.after(lookEveryMs, begin);
  };
  const begin = (): void => {
    if (looking || stopped) return;
    looking = true;
    cancel();
    void look();
  };
  begin();
  process.on('SIGHUP', begin);
  return () => {
    stopped = true;
    process.off('SIGHUP', begin);
    cancel();
  };
}

function readNow(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
