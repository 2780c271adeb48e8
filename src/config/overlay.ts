import type { Path } from './tree.ts';

/** Values that are put over everything that is written, for a time. */
export interface Overlay {
  /** Who did it, as `config show` names it: `playbook NAME`. */
  readonly source: string;
  /** By path: `upstreams.news.concurrency`. */
  readonly values: Readonly<Record<string, unknown>>;
}

const hot =
  /^(redis\.timeoutMs|upstreams\.[a-z0-9][a-z0-9_-]*\.(groups\.[a-z0-9][a-z0-9_-]*\.)?(breaker|retry|fallback|health|cache|concurrency|concurrencyFloor|connections|timeouts\.(attemptMs|totalMs))(\.[A-Za-z0-9.]+)?)$/;

/** What may be changed while a process works, in words. */
export const hotPaths =
  'redis.timeoutMs, or of an upstream or a group of its APIs breaker, retry, fallback, health, cache, concurrency, concurrencyFloor, connections, timeouts.attemptMs and .totalMs';

/** Whether a change of that value takes effect without a restart. */
export function isHot(path: string): boolean {
  return hot.test(path);
}

/** The path that a text names. */
export function pathOfText(text: string): Path {
  return text.split('.');
}
