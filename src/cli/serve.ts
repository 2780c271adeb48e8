import { type Config } from '../config/config.ts';
import { describe, secretsOf } from '../config/describe.ts';
import { loadConfig } from '../config/load.ts';
import type { Overlay } from '../config/overlay.ts';
import { type Roles, serve, type Served } from '../runtime/serve.ts';
import { untilStopped } from '../runtime/until-stopped.ts';

import { type ConfigOptions, inputFrom, loadFrom } from './config-options.ts';
import { note, print, reportFailure } from './output.ts';

/** Exit code when calls under way had to be cut off at the end of the drain time: they will be delivered again. */
const abortedExitCode = 3;

/** Options of the commands that stay. */
export interface ServeOptions extends ConfigOptions {
  readonly ingress?: string;
  readonly admin?: string;
}

/**
 * Runs roles until SIGTERM or SIGINT, then drains. Sets the exit code: 0 when everything under way ended, 3 when some of
 * it was cut off, 1 when a role failed for good.
 * @param prepare done once; what it returns is applied to the configuration whenever that is read
 */
export async function runRoles(
  options: ServeOptions,
  roles: Roles,
  prepare: () => Promise<(config: Config) => Config> = () => Promise.resolve((config) => config),
  welcome: (served: Served, config: Config) => void = () => undefined,
): Promise<void> {
  const { ingress, admin } = options;
  const flags = { ...(ingress === undefined ? {} : { ingress }), ...(admin === undefined ? {} : { admin }) };
  const load = (overlays: readonly Overlay[] = []) => loadFrom(options, flags, overlays);
  const loaded = load();
  const { file, text } = loaded;
  const prepared = await prepare();
  const config = prepared(loaded.config);
  const source =
    file === undefined
      ? undefined
      : {
          ...{ file, text, described: describe(loaded) },
          load: (overlays?: readonly Overlay[]) => prepared(load(overlays).config),
          describe: (overlays?: readonly Overlay[]) => describe(loadConfig(inputFrom(options, flags, overlays))),
        };
  const served = await serve(config, secretsOf(loaded), roles, source);
  welcome(served, config);
  const ended = await Promise.race([untilStopped(), served.failed]);
  if (typeof ended !== 'string') reportFailure(ended);
  else note(`${ended}: no new calls; those under way have ${config.drainMs / 1_000} s to end`);
  const stopped = await served.stop();
  print(stopped === 'drained' ? 'stopped: everything under way has ended' : 'stopped: some calls were cut off');
  process.exit(typeof ended !== 'string' ? 1 : stopped === 'drained' ? 0 : abortedExitCode);
}
