/** A topic in which records wait: each for the same time, so that the order of the log is the order of dueness. */
export interface DelayTier {
  readonly topic: string;
  readonly waitMs: number;
}

/** The delay topics, shortest first. */
export const delayTiers = [
  { topic: 'retry.10s', waitMs: 10_000 },
  { topic: 'retry.1m', waitMs: 60_000 },
  { topic: 'retry.10m', waitMs: 600_000 },
  { topic: 'retry.1h', waitMs: 3_600_000 },
] as const satisfies readonly DelayTier[];

/** A shorter wait stays in the process: no delay topic is that short. */
export const shortestOutsideMs = delayTiers[0].waitMs;

/** Names of the delay topics. */
export const delayTopics: readonly string[] = delayTiers.map(({ topic }) => topic);

/**
 * Where a record waits next that is to wait `restMs` more: the longest tier that is not longer than that. So none comes
 * back too late, and every record of a topic waits exactly as long as those before it: nobody due stands behind somebody
 * who is not. What is left then is waited in the process. A rest below the shortest tier gets that one.
 */
export function tierFor(restMs: number): DelayTier {
  return delayTiers.findLast(({ waitMs }) => waitMs <= restMs) ?? delayTiers[0];
}

/** The tier of a topic, `undefined` for one that is no delay topic. */
export function tierOf(topic: string): DelayTier | undefined {
  return delayTiers.find((tier) => tier.topic === topic);
}
