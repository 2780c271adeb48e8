import type { HealthProbe } from '../../ports/health-probe.ts';

import { parseObject, readEnvelope } from './envelope.ts';
import type { FeishuApp } from './tokens.ts';

/** The probe of Feishu. */
export interface TokenProbeOptions {
  readonly app: FeishuApp;
  /** Path of the upstream's base URL, without a trailing slash. */
  readonly pathPrefix: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly withinMs: number;
  /**
   * Seconds that the token of a good answer lives. Feishu hands out the same token while it lives for half an hour or
   * longer, so more than 1,800 would fail on answers that are well.
   */
  readonly minExpireS: number;
}

/**
 * Asks for an app token: cheap, without effect, and needs no token itself. Good is HTTP 200 with code 0 and a token that
 * lives long enough. The token is not kept. An answer carries no signature, so none is looked at.
 */
export function tokenProbe({ app, pathPrefix, headers, withinMs, minExpireS }: TokenProbeOptions): HealthProbe {
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    request: {
      method: 'POST',
      path: `${pathPrefix}/open-apis/auth/v3/app_access_token/internal`,
      headers: { ...own, 'content-type': 'application/json; charset=utf-8' },
      body: Buffer.from(JSON.stringify({ app_id: app.id, app_secret: app.secret })),
    },
    withinMs,
    fault: ({ status, body }) => {
      if (status !== 200) return `HTTP ${status}`;
      const { code } = readEnvelope(body);
      if (code !== 0) return code === undefined ? 'the answer has no code' : `code ${code}`;
      const answer = parseObject(body);
      const expire = answer?.['expire'];
      if (typeof answer?.['app_access_token'] !== 'string') return 'the answer has no token';
      if (typeof expire !== 'number') return 'the answer does not say how long its token lives';
      return expire < minExpireS ? `the token lives ${expire} s instead of ${minExpireS}` : undefined;
    },
  };
}
