import { factorRule, longWindow, spreadRule } from '../../operators/limit/options.ts';
import type { LimitKey } from '../../ports/profile.ts';
import type { BucketView, QuotaAnswer } from '../../ports/quota-log.ts';

import type { ReplyReader } from './step-batches.ts';

/** Behind the prefix of all keys: where a rest is told to all processes. */
export const restChannel = 'quota:rests';

/** How long a bucket remembers what it learned without a call. */
const bucketLifeMs = 3_600_000;
const spreadOf = [spreadRule.leastLimit, spreadRule.longestWindowMs, spreadRule.atOnce, spreadRule.evenness];
const longOf = [longWindow.fromMs, longWindow.times];
const { floor, leastKept, leastUsed, unexplained, manyRefusals, manyShare, manySince, promptMs } = factorRule;
const { believedInARow, vainInARow, firstStep, longestStep, everyMs, longestEveryMs } = factorRule;
const factorOf = [
  ...[floor, leastKept, leastUsed, unexplained, manyRefusals, manyShare, manySince, promptMs],
  ...[believedInARow, vainInARow, firstStep, longestStep, everyMs, longestEveryMs],
];

/** What `quota.lua` is told before the steps, but for the time. */
export function rulesOf(stretchMs: number, channel: string): (string | number)[] {
  return [stretchMs, bucketLifeMs, channel, ...spreadOf, ...longOf, ...factorOf];
}

/** The keys of some buckets: of each its hash, then one list per window. */
export function keysOf(prefix: string, limits: readonly LimitKey[]): string[] {
  return limits.flatMap(({ key, windows }) => [
    `${prefix}:${key}`,
    ...windows.map(({ windowMs }) => `${prefix}:${key}:${windowMs}`),
  ]);
}

/** A bucket among the arguments. */
export function windowsOf({ windows }: LimitKey): number[] {
  return [windows.length, ...windows.flatMap(({ limit, windowMs }) => [limit, windowMs])];
}

/** Some buckets among the arguments. */
export function spelled(limits: readonly LimitKey[]): number[] {
  return [limits.length, ...limits.flatMap(windowsOf)];
}

/** Takes the answer to an ask from the front. */
export function readAnswer(reply: ReplyReader, limits: readonly LimitKey[]): QuotaAnswer {
  const granted = reply.number();
  const nowUs = reply.number();
  const waitMs = reply.number() / 1_000;
  const key = limits[reply.number() - 1]?.key ?? '';
  const stamps = Array.from({ length: granted }, () => reply.number());
  const inMs = stamps.map((stamp) => (stamp - nowUs) / 1_000);
  const buckets = limits.map((limit) => readBucket(reply, limit));
  return { kind: 'answer', granted, stamps, inMs, logMs: nowUs / 1_000, waitMs, key, buckets };
}

/** Takes a bucket from the front. */
export function readBucket(reply: ReplyReader, { key, windows }: LimitKey): BucketView {
  const coolMs = reply.number() / 1_000;
  const factor = reply.number() / 1_000_000;
  const taken = windows.map(() => reply.number());
  return { key, coolMs, factor, taken };
}

/** A rest as it is told on the channel: `microseconds hash`; the key stands behind the tag of the hash. */
export function readRest(message: string): { readonly key: string; readonly restMs: number } {
  const space = message.indexOf(' ');
  return { key: message.slice(message.indexOf('}:', space) + 2), restMs: Number(message.slice(0, space)) / 1_000 };
}
