import type { Command } from 'commander';

import { type ConfigFlags, type ConfigInput, type Loaded, loadConfig } from '../config/load.ts';
import type { Overlay } from '../config/overlay.ts';

import { note } from './output.ts';

/** Options that every command with a configuration takes. */
export interface ConfigOptions {
  readonly config?: string;
  readonly data?: string;
  readonly logLevel?: string;
}

/** Adds `--config`, `--data` and `--log-level`. */
export function withConfigOptions(command: Command): Command {
  return command
    .option('-c, --config <file>', 'configuration file (default: larkspur.yaml, if there is one)')
    .option('--data <folder>', "folder of the embedded store, or 'memory'")
    .option('--log-level <level>', 'debug, info, warn, error or silent');
}

/** Adds `--url`, which may be given several times; read as `url`, a list that is empty by default. @param what whose address it is */
export function withUrls(command: Command, what = 'admin port of a worker'): Command {
  return command.option(
    '--url <url>',
    `${what}; several times for several workers (default: the configured one)`,
    (url: string, before: readonly string[]) => [...before, url],
    [],
  );
}

/** Where the configuration that the options name comes from. @param overlays what lies over it for a time */
export function inputFrom(
  { config, data, logLevel }: ConfigOptions,
  more: ConfigFlags = {},
  overlays: readonly Overlay[] = [],
): ConfigInput {
  const flags: ConfigFlags = {
    ...(data === undefined ? {} : { data }),
    ...(logLevel === undefined ? {} : { logLevel }),
    ...more,
  };
  return { ...(config === undefined ? {} : { file: config }), flags, overlays };
}

/**
 * Loads the configuration that the options name; warnings go to standard error.
 * @throws LarkspurError `config_invalid`
 */
export function loadFrom(options: ConfigOptions, more: ConfigFlags = {}, overlays: readonly Overlay[] = []): Loaded {
  const loaded = loadConfig(inputFrom(options, more, overlays));
  for (const warning of loaded.warnings) note(`warning: ${warning}`);
  return loaded;
}
