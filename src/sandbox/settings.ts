import type { WindowLimit } from './state/windows.ts';

/** The APIs the sandbox plays. They name tiers, replay windows and figures. */
const apis = [
  'im.message.create',
  'im.message.reply',
  'im.message.patch',
  'im.message.delete',
  'im.file.create',
  'contact.user.batch',
  'contact.user.get',
  'bitable.record.create',
  'echo',
] as const;

/** One of the APIs the sandbox plays. */
export type Api = (typeof apis)[number];

/** What may be changed while the sandbox runs. */
export interface SandboxSettings {
  /** Time every business API takes before it acts; >= 0. The same key sent again within it is answered "in flight". */
  readonly latencyMs: number;
  /** How the windows of the tiers are counted. The platform does not say which it uses; `off` refuses nothing. */
  readonly tierMode: 'sliding' | 'fixed' | 'off';
  /** Windows per API, counted per (app, tenant, API). An API that is not named has none. */
  readonly tiers: Readonly<Partial<Record<Api, readonly WindowLimit[]>>>;
  /** Messages to one chat or user, and edits of one message, per second, over all apps of a tenant; 0 = no such limit. */
  readonly chatPerSecond: number;
  /** HTTP status of a tier's refusal: 429, or 400 as on some older APIs. The code is 99991400 in both. */
  readonly refusalStatus: 429 | 400;
  /** HTTP status that comes with 99991663: users have seen both. */
  readonly tokenErrorStatus: 400 | 200;
}

const perSecond = (limit: number): WindowLimit => ({ limit, windowMs: 1_000 });
const perMinute = (limit: number): WindowLimit => ({ limit, windowMs: 60_000 });
const tier4 = [perMinute(1_000), perSecond(50)];

/** Feishu's documented tiers; no latency. */
export const settingsDefaults: SandboxSettings = {
  latencyMs: 0,
  tierMode: 'sliding',
  tiers: {
    'im.message.create': tier4,
    'im.message.reply': tier4,
    'im.message.patch': tier4,
    'im.message.delete': tier4,
    'im.file.create': tier4,
    'contact.user.batch': tier4,
    'contact.user.get': tier4,
    'bitable.record.create': [perSecond(50)],
  },
  chatPerSecond: 5,
  refusalStatus: 429,
  tokenErrorStatus: 400,
};

/** Settings to change, or every mistake in them. */
export type ParsedSettings =
  | { readonly settings: Partial<SandboxSettings>; readonly mistakes?: never }
  | { readonly settings?: never; readonly mistakes: readonly string[] };

/** Checks some settings. */
export function parseSettings(input: unknown): ParsedSettings {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return { mistakes: ['must be an object'] };
  const mistakes = Object.entries(input).flatMap(([name, value]: [string, unknown]) => {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) return [`${name}: is not a setting; there are ${Object.keys(checks).join(', ')}`];
    return check.is(value) ? [] : [`${name}: must be ${check.wants}`];
  });
  return mistakes.length > 0 ? { mistakes } : { settings: input };
}

const oneOf = (...allowed: readonly unknown[]) => ({
  is: (value: unknown) => allowed.includes(value),
  wants: `one of ${allowed.join(', ')}`,
});
const wholeNumber = {
  is: (value: unknown) => Number.isInteger(value) && (value as number) >= 0,
  wants: 'a whole number of 0 or more',
};

const checks: Readonly<Record<string, { is: (value: unknown) => boolean; wants: string }>> = {
  latencyMs: wholeNumber,
  tierMode: oneOf('sliding', 'fixed', 'off'),
  tiers: { is: areTiers, wants: `an object of API to a list of {limit, windowMs}; the APIs are ${apis.join(', ')}` },
  chatPerSecond: wholeNumber,
  refusalStatus: oneOf(429, 400),
  tokenErrorStatus: oneOf(400, 200),
};

function areTiers(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(
    ([api, windows]: [string, unknown]) =>
      apis.some((known) => known === api) && Array.isArray(windows) && windows.every(isWindow),
  );
}

function isWindow(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { limit, windowMs } = value as Partial<WindowLimit>;
  return [limit, windowMs].every((count) => Number.isInteger(count) && (count ?? 0) > 0);
}
