import { ReplyError } from 'ioredis';

import { LarkspurError, messageOf } from '../../model/errors.ts';

// Before Redis 7 the reply to a command of a script stands behind this.
const script = '(?:ERR Error running script .*?: -)?';
// Replies with which a server says that it will work later: the same as no reply.
const passing = new RegExp(`^${script}(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MOVED|ASK)\\b`);
const demotion = new RegExp(`^${script}READONLY\\b`);
const misconfigured = new RegExp(
  `^${script}(NOAUTH|WRONGPASS|NOPERM|OOM|MISCONF|NOPROTO)\\b|invalid password|unknown command`,
  'i',
);

/** Whether an error is Redis' own reply and not the lack of one. */
export function isReply(error: unknown): boolean {
  return error instanceof ReplyError && !passing.test(messageOf(error));
}

/** Whether the server takes no writes because it has become a replica of another one. */
export function isDemotion(error: unknown): boolean {
  return demotion.test(messageOf(error));
}

/** Whether the server does not know a script (it restarted, or was never told). */
export function isNoScript(error: unknown): boolean {
  return messageOf(error).startsWith('NOSCRIPT');
}

/** Any failure of a command as the house's error. `retryable` when waiting helps. */
export function toLarkspurError(error: unknown): LarkspurError {
  if (error instanceof LarkspurError) return error;
  const message = messageOf(error);
  if (misconfigured.test(message)) {
    return new LarkspurError('redis_misconfigured', `Redis refuses: ${message}`, {
      cure: 'check user, password and permissions in redis.url, memory and disk of Redis; `larkspur doctor` shows more',
      retryable: true,
      cause: error,
    });
  }
  if (isReply(error)) return new LarkspurError('internal', `Redis refuses: ${message}`, { cause: error });
  return new LarkspurError('redis_unavailable', `Redis does not answer: ${message}`, {
    cure: isDemotion(error)
      ? 'let redis.url lead to the master: this server has become a replica; work goes on by itself then'
      : 'check that Redis runs, that redis.url leads to it, and that its maxclients is not reached; work goes on by itself when it answers',
    retryable: true,
    cause: error,
  });
}
