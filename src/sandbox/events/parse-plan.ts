import type { TrafficPlan } from './traffic.ts';

/** A plan, or every mistake in it. */
export type ParsedPlan =
  | { readonly plan: TrafficPlan; readonly mistakes?: never }
  | { readonly plan?: never; readonly mistakes: readonly string[] };

const isText = (value: unknown) => typeof value === 'string' && value !== '';
const wholeNumber = (least: number, most: number) => ({
  is: (value: unknown) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  wants: `a whole number from ${least} to ${most}`,
});
const number = (least: number, most: number) => ({
  is: (value: unknown) => typeof value === 'number' && value >= least && value <= most,
  wants: `a number from ${least} to ${most}`,
});

const targetChecks: Checks = {
  urls: {
    is: (value) =>
      Array.isArray(value) && value.length > 0 && value.every((url) => isText(url) && URL.canParse(url as string)),
    wants: 'a list of base URLs',
  },
  app: { is: isText, wants: 'an app id' },
  over: {
    is: (value) => ['webhook', 'long-connection'].includes(value as string),
    wants: 'one of webhook, long-connection',
  },
  encryptKey: { is: (value) => value === undefined || isText(value), wants: 'an Encrypt Key' },
  verificationToken: { is: (value) => value === undefined || isText(value), wants: 'a Verification Token' },
};
const checks: Checks = {
  target: { is: (value) => typeof value === 'object' && value !== null, wants: 'an object' },
  events: wholeNumber(1, 1_000_000),
  chats: wholeNumber(1, 100_000),
  duplicates: number(0, 1),
  schema: { is: (value) => ['1.0', '2.0', 'both'].includes(value as string), wants: 'one of 1.0, 2.0, both' },
  timeScale: number(0, 1),
  atOnce: wholeNumber(1, 1_000),
  perSecond: number(0.1, 1_000_000),
};

type Checks = Readonly<Record<string, { is: (value: unknown) => boolean; wants: string }>>;

/** Checks a plan that came over HTTP. */
export function parsePlan(input: unknown): ParsedPlan {
  if (typeof input !== 'object' || input === null) return { mistakes: ['must be an object'] };
  const { target } = input as { target?: unknown };
  const mistakes = [
    ...mistakesIn(input, checks, ['target', 'events'], ''),
    ...(typeof target === 'object' && target !== null
      ? mistakesIn(target, targetChecks, ['urls', 'app'], 'target.')
      : []),
  ];
  return mistakes.length > 0 ? { mistakes } : { plan: input as TrafficPlan };
}

function mistakesIn(input: object, known: Checks, needed: readonly string[], at: string): string[] {
  const missing = needed.filter((name) => !(name in input)).map((name) => `${at}${name}: is missing`);
  const wrong = Object.entries(input).flatMap(([name, value]: [string, unknown]) => {
    const check = Object.hasOwn(known, name) ? known[name] : undefined;
    if (check === undefined) return [`${at}${name}: is not known; there are ${Object.keys(known).join(', ')}`];
    return check.is(value) ? [] : [`${at}${name}: must be ${check.wants}`];
  });
  return [...missing, ...wrong];
}
