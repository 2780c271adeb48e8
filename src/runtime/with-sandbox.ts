import type { Config, UpstreamConfig } from '../config/config.ts';

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
