import { createHmac } from 'node:crypto';

import type { Answer } from '../http/answer.ts';
import type { World } from '../world.ts';

const mostBytes = 20 * 1024;
const oldestMs = 3_600_000;
/** `bot/v2/hook`: a message into a group. The platform tells no repeat from a new message, and refuses with status 200. */
export function hookAnswer({ bots, clock }: World, bot: string, body: unknown): Answer {
  const tree = typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  if (Buffer.byteLength(JSON.stringify(tree)) > mostBytes) return refused(19036, 'text too long');
  const secret = bots.secrets.get(bot);
  if (secret !== undefined && !isSigned(tree, secret, clock.wall())) {
    return refused(19021, 'sign match fail or timestamp is not within one hour from current time');
  }
  const { msg_type: kind } = tree;
  if (typeof kind !== 'string') return refused(19002, 'params error, msg_type need');
  // Only a card stands beside the content.
  const part = kind === 'interactive' ? 'card' : 'content';
  if (tree[part] === undefined) return refused(19002, `params error, ${part} need`);
  const nowMs = clock.now();
  if (bots.refuses(bot, nowMs)) return refused(11232, 'frequency limited psm[lark.oapi.app_platform_runtime]');
  bots.add({ bot, atMs: nowMs, message: tree });
  return { status: 200, body: { StatusCode: 0, StatusMessage: 'success', code: 0, data: {}, msg: 'success' } };
}

function isSigned({ timestamp, sign }: Readonly<Record<string, unknown>>, secret: string, wallMs: number): boolean {
  const seconds = Number(timestamp);
  if (!(Math.abs(wallMs - seconds * 1_000) < oldestMs)) return false;
  return sign === createHmac('sha256', `${seconds}\n${secret}`).update('').digest('base64');
}

function refused(code: number, msg: string): Answer {
  return { status: 200, body: { code, data: {}, msg } };
}
