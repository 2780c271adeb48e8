import { type Call, methodOf } from '../../model/call.ts';
import { encodeBody, encodeHeaders, encodeTarget } from '../../model/request-body.ts';
import type { CallPlan, GroupRule, LimitKey, Profile, RateWindow, Unplannable } from '../../ports/profile.ts';
import type { TokenNeed } from '../../ports/token-source.ts';

import { batchFormOf, batchTwinOf } from './batch-forms.ts';
import { type Api, apiCatalogue, serviceOf } from './catalogue/apis.ts';
import { classifyFeishu } from './classify.ts';
import { limitKeys, type Placed, serialKey } from './limits.ts';
import { withPlatformKey } from './platform-key.ts';

/** What may be set for an upstream that speaks Feishu. */
export interface FeishuProfileOptions {
  /** Name of the upstream, part of its quota keys; default `feishu`. */
  readonly upstream?: string;
  /** Known apps; `tenant` is the tenant of calls that name none. */
  readonly apps: readonly { readonly id: string; readonly tenant?: string }[];
  /** App of calls that name none; default: the only one. */
  readonly defaultApp?: string;
  /** Origin with an optional path prefix, e.g. `https://open.feishu.cn`. */
  readonly baseUrl: string;
  /** Windows that replace the documented tier, by label (`POST /open-apis/im/v1/messages`), or for all under `*`. */
  readonly limits?: Readonly<Record<string, readonly RateWindow[]>>;
  /** Groups of its APIs; of several that fit the first counts. */
  readonly groups?: readonly GroupRule[];
  /** Whether calls may go together where an API gives many of the same; default: each by itself. */
  readonly batching?: boolean;
}

/** The tenant in keys and tokens of a call that names none: a self-built app has just one. */
const ownTenant = '-';

/**
 * Feishu as the pipeline sees it: finds the API in the catalogue, the app, the token, the quota buckets, and puts the
 * platform's idempotency key into the request. An API that the catalogue does not hold is sent too: 5 per second, not
 * repeated after an unknown outcome unless it is a GET, PUT or DELETE.
 */
export function feishuProfile(options: FeishuProfileOptions): Profile {
  const catalogue = apiCatalogue();
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/$/, '');
  const { upstream = 'feishu', groups = [] } = options;
  const tenants = new Map(options.apps.map(({ id, tenant }) => [id, tenant]));

  const known = (service: string): string => (catalogue.services.has(service) ? service : 'other');

  const windowsOf = (label: string): readonly RateWindow[] | undefined =>
    options.limits?.[label] ?? options.limits?.['*'];

  /**
   * How a call goes with others, and its buckets then: also that of the API that gives many, because nobody knows beforehand
   * which of the two it will be.
   */
  const withOthers = (placed: Placed, own: readonly LimitKey[], token: TokenNeed | undefined, group = '') => {
    const many = batchTwinOf(placed.label);
    if (many === undefined) return undefined;
    const known = new Set(own.map(({ key }) => key));
    const twins = limitKeys({ ...placed, label: many, api: catalogue.byLabel(many) }, windowsOf(many));
    const { app, tenant, label, params, call } = placed;
    const who = JSON.stringify([upstream, group, app, tenant, token?.as ?? '']);
    const form = batchFormOf({ call, label, params, prefix, who, limitKey: twins[0]?.key ?? '' });
    if (form === undefined) return undefined;
    return { form, limits: [...own, ...twins.filter(({ key }) => !known.has(key))] };
  };

  const plan = (call: Call, id: string): CallPlan | Unplannable => {
    const method = methodOf(call);
    const match = catalogue.find(method, call.path);
    const api = match?.value;
    const app = appOf(call, api, options);
    if (typeof app !== 'string') return app;
    const tenant = call.tenant ?? tenants.get(app);
    const token = tokenNeed(call, api, app, tenant);
    if (token !== undefined && 'reason' in token) return token;

    const keyed = withPlatformKey(call, api, method, id);
    const label = api?.label ?? `${method} other`;
    const placed: Placed = {
      upstream,
      app,
      tenant: tenant ?? ownTenant,
      label,
      api,
      params: match?.params ?? {},
      call,
    };
    const serial = serialKey(placed);
    const service = serviceOf(call.path);
    const group = groups.find((one) => one.has(call.path, api?.tier ?? []))?.name;
    const limits = limitKeys(placed, windowsOf(label));
    const batch =
      options.batching === true && keyed.repeat.kind === 'always'
        ? withOthers(placed, limits, token, group)
        : undefined;
    return {
      api: label,
      service,
      breakerKey: `${base.host}/${group === undefined ? known(service) : `group/${group}`}`,
      group,
      limits: batch?.limits ?? limits,
      repeat: keyed.repeat,
      serial,
      token,
      batch: batch?.form,
      request: () => {
        const body = encodeBody(keyed.call, id);
        return {
          method,
          path: encodeTarget(prefix + call.path, keyed.call.query),
          headers: encodeHeaders(call, body?.contentType),
          body: body?.bytes,
        };
      },
    };
  };
  return { plan, classify: classifyFeishu };
}

/** The app a call speaks for. An API without tokens (a custom bot) needs none. */
function appOf(call: Call, api: Api | undefined, options: FeishuProfileOptions): string | Unplannable {
  const named = call.app ?? options.defaultApp;
  const known = options.apps.map(({ id }) => id);
  if (named === undefined && api?.tokens.includes('none') === true) return known.length === 1 ? (known[0] ?? '-') : '-';
  const app = named ?? (known.length === 1 ? known[0] : undefined);
  if (app !== undefined && known.includes(app)) return app;
  const apps = known.length === 0 ? 'no app is configured' : `known apps: ${known.join(', ')}`;
  return {
    reason: 'unroutable',
    at: '/app',
    message: app === undefined ? `names no app, and there is not just one: ${apps}` : `unknown app ${app}; ${apps}`,
  };
}

/** As whom the call is made: as it says, else as the tenant, else as the app; never as a user without being told which. */
function tokenNeed(
  call: Call,
  api: Api | undefined,
  app: string,
  tenant: string | undefined,
): TokenNeed | Unplannable | undefined {
  if (call.as !== undefined) return { app, tenant, as: call.as };
  const accepted = api?.tokens ?? [];
  if (accepted.includes('none')) return undefined;
  if (accepted.length === 0 || accepted.includes('tenant')) return { app, tenant, as: 'tenant' };
  if (accepted.includes('app')) return { app, tenant, as: 'app' };
  return {
    reason: 'invalid_call',
    at: '/as',
    message: 'this API takes only user tokens: set as to {"user": "<open_id>"}',
  };
}
