import { feishuProfile } from '../adapters/feishu/profile.ts';
import { httpProfile } from '../adapters/http/http-profile.ts';
import type { Config, GroupConfig, UpstreamConfig } from '../config/config.ts';
import type { Call } from '../model/call.ts';
import type { Fault } from '../model/http.ts';
import { fits } from '../model/pattern.ts';
import type { GroupRule, Profile, RateWindow } from '../ports/profile.ts';

/** What is known about a configured upstream. */
export function profileOf(
  { name, profile, baseUrl, limits, batching, idempotencyKey, groups }: UpstreamConfig,
  apps: Config['apps'],
): Profile {
  const shared = { upstream: name, baseUrl, groups: groups.map(ruleOf) };
  return profile === 'feishu'
    ? feishuProfile({ ...shared, apps, batching, ...(limits.length > 0 ? { limits: { '*': limits } } : {}) })
    : httpProfile({ ...shared, limits, idempotencyKey });
}

function ruleOf({ name, paths, tier }: GroupConfig): GroupRule {
  const ofTier = ({ limit, windowMs }: RateWindow): boolean => limit === tier?.limit && windowMs === tier.windowMs;
  return {
    name,
    has: (path, windows) =>
      (paths === undefined || paths.some((pattern) => fits(pattern, path))) &&
      (tier === undefined || windows.some(ofTier)),
  };
}

/** What can be said of a call before it is stored. */
export interface KnownCalls {
  readonly upstreams: Config['upstreams'];
  /** Which app a call of Feishu's goes out as: the one that it names, else the only one. `undefined` for other upstreams. */
  appOf(call: Call): string | undefined;
  /**
   * Why no worker with this configuration could make it: an upstream or app that is not configured, a call its upstream cannot
   * be asked. `undefined` when nothing stands against it.
   */
  refusalOf(call: Call, id: string): Fault | undefined;
}

/** What these upstreams and apps can be asked. */
export function knownCalls({ apps, upstreams }: Pick<Config, 'apps' | 'upstreams'>): KnownCalls {
  const profiles = new Map(Object.values(upstreams).map((upstream) => [upstream.name, profileOf(upstream, apps)]));
  const [only] = apps.length === 1 ? apps : [];
  return {
    upstreams,
    appOf: ({ upstream = 'feishu', app }) =>
      upstreams[upstream]?.profile === 'feishu' ? (app ?? only?.id) : undefined,
    refusalOf: (call, id) => {
      const profile = profiles.get(call.upstream ?? 'feishu');
      if (profile === undefined) {
        return { at: '/upstream', message: `is not configured; known: ${[...profiles.keys()].join(', ')}` };
      }
      const plan = profile.plan(call, id);
      return 'reason' in plan ? { at: plan.at, message: plan.message } : undefined;
    },
  };
}
