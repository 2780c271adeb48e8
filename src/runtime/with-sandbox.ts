import type { Config, UpstreamConfig } from '../config/config.ts';
import type { Described } from '../config/describe.ts';

/** Secret of the app that stands in when none is configured: the emulator takes any. */
const sandboxApp = { id: 'cli_sandbox', secret: 'sandbox', encryptKey: undefined, verificationToken: undefined };

/** A configuration whose Feishu calls go to the emulator at `url`; an app is made up when none is configured. */
export function withSandbox(config: Config, url: string, changes: Partial<UpstreamConfig> = {}): Config {
  const { feishu } = config.upstreams;
  if (feishu === undefined) return config;
  return {
    ...config,
    apps: config.apps.length > 0 ? config.apps : [sandboxApp],
    upstreams: { ...config.upstreams, feishu: { ...feishu, ...changes, baseUrl: url, targets: [url] } },
  };
}

/** The same of what is shown of a configuration: what {@link withSandbox} puts into it, by `flag --with-sandbox`. */
export function shownWithSandbox(lines: readonly Described[], url: string): readonly Described[] {
  const put = (path: string, value: string): Described => ({ path, value, source: 'flag --with-sandbox' });
  const own = put('upstreams.feishu.baseUrl', JSON.stringify(url));
  return lines.flatMap((line) => {
    if (line.path === 'apps') return [put('apps[0].id', JSON.stringify(sandboxApp.id)), put('apps[0].secret', '***')];
    if (line.path === own.path) return [own];
    return line.path.startsWith('upstreams.feishu.targets[') ? [] : [line];
  });
}
