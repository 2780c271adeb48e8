import { type Config } from '../config/config.ts';
import { type Described, describe, secretsOf } from '../config/describe.ts';
import { loadConfig } from '../config/load.ts';
import type { Overlay } from '../config/overlay.ts';
import { type Roles, serve, type Served } from '../runtime/serve.ts';
import { untilStopped } from '../runtime/until-stopped.ts';

import { type ConfigOptions, inputFrom, loadFrom } from './config-options.ts';
import { note, print, reportFailure } from './output.ts';

/** Exit code when calls under way had to be cut off at the end of the drain time: they will be delivered again. */
const abortedExitCode = 3;

/** What a command does to the configuration that was loaded, and to what is shown of it. */
export interface Prepared {
  config(loaded: Config): Config;
  shown(lines: readonly Described[]): readonly Described[];
}

const asWritten: Prepared = { config: (loaded) => loaded, shown: (lines) => lines };

/** Options of the commands that stay. */
export interface ServeOptions extends ConfigOptions {
  readonly ingress?: string;
  readonly admin?: string;
}

/**
 * Runs roles until SIGTERM or SIGINT, then drains and ends the process: with 0 when everything under way ended, 3 when some
 * of it was cut off, 1 when a role did not start or failed for good.
 * @param prepare done once; what it returns is applied to the configuration whenever that is read or shown
 */
export async function runRoles(
  options: ServeOptions,
  roles: Roles,
  prepare: () => Promise<Prepared> = () => Promise.resolve(asWritten),
  welcome: (served: Served, config: Config) => void = () => undefined,
): Promise<void> {
  let code = 1;
  try {
    code = await runToTheEnd(options, roles, prepare, welcome);
  } catch (error) {
    reportFailure(error);
  }
  // What is still open, as a sandbox that was to be called, would hold the process.
  process.exit(code);
}

async function runToTheEnd(
  options: ServeOptions,
  roles: Roles,
  prepare: () => Promise<Prepared>,
  welcome: (served: Served, config: Config) => void,
): Promise<number> {
  const { ingress, admin } = options;
  const flags = { ...(ingress === undefined ? {} : { ingress }), ...(admin === undefined ? {} : { admin }) };
  const load = (overlays: readonly Overlay[] = []) => loadFrom(options, flags, overlays);
  const loaded = load();
  const { file, text } = loaded;
  const prepared = await prepare();
  const config = prepared.config(loaded.config);
  const source = {
    ...{ file, text, described: prepared.shown(describe(loaded)) },
    load: (overlays?: readonly Overlay[]) => prepared.config(load(overlays).config),
    describe: (overlays?: readonly Overlay[]) =>
      prepared.shown(describe(loadConfig(inputFrom(options, flags, overlays)))),
  };
  // Whoever asks for the file to be read while nobody follows it, as in the drain, must not end the process by it.
  if (file !== undefined) process.on('SIGHUP', () => undefined);
  const served = await serve(config, secretsOf(loaded), roles, source);
  welcome(served, config);
  const ended = await Promise.race([untilStopped(), served.failed]);
  if (typeof ended !== 'string') reportFailure(ended);
  else note(`${ended}: no new calls; those under way have ${config.drainMs / 1_000} s to end`);
  const stopped = await served.stop();
  print(stopped === 'drained' ? 'stopped: everything under way has ended' : 'stopped: some calls were cut off');
  if (typeof ended !== 'string') return 1;
  return stopped === 'drained' ? 0 : abortedExitCode;
}
