import { createHmac } from 'node:crypto';

import { LarkspurError, messageOf } from '../../model/errors.ts';
import { ExactLog } from '../../operators/limit/exact-log.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Post } from '../system/post.ts';

import { readEnvelope } from './envelope.ts';

/** A message of a custom bot. */
export interface BotMessage {
  readonly title: string;
  readonly text: string;
  readonly link: string | undefined;
}

/** A custom bot in a group, and what sending needs. */
export interface CustomBotOptions {
  /** `https://open.feishu.cn/open-apis/bot/v2/hook/...`; whoever knows it may post, so it is a secret. */
  readonly webhook: string;
  readonly secret: string | undefined;
  readonly post: Post;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

const windows = [
  { limit: 5, windowMs: 1_000 },
  { limit: 100, windowMs: 60_000 },
];
const timeoutMs = 5_000;
const mostAttempts = 4;
const longestWaitMs = 70_000;
// The platform takes 20 KB for a message.
const mostTextBytes = 16_000;
// 11232: too many, seen at full minutes. 9499 is a bad parameter, too, unless its text says otherwise.
const isRefusal = (code: number, text: string): boolean => code === 11232 || (code === 9499 && /too many/i.test(text));

/**
 * Posts messages as a custom bot of a Feishu group: signed, within the bot's own limits (5 a second, 100 a minute), again after a
 * refusal, away from the full minute. Without an answer it is not sent again: nothing tells a repeat, so it might stand there twice.
 */
export class CustomBot {
  readonly #options: CustomBotOptions;
  readonly #starts = new ExactLog(windows);

  constructor(options: CustomBotOptions) {
    this.#options = options;
  }

  /** Resolves when the group has it. Rejects with `rate_limited`, `no_answer`, `bad_request`, or the `LarkspurError` of `post`. */
  async send(message: BotMessage): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await this.#turn();
      const { code, text } = await this.#post(message);
      if (code === 0) return;
      if (!isRefusal(code, text))
        throw new LarkspurError('bad_request', `the bot refused the message: ${code} ${text}`);
      if (attempt >= mostAttempts)
        throw new LarkspurError('rate_limited', `the bot takes no more messages: ${code} ${text}`);
      await this.#wait(1_000 * 2 ** attempt * (0.5 + this.#options.random.next()));
    }
  }

  async #turn(): Promise<void> {
    const { clock } = this.#options;
    const waitMs = this.#starts.waitMs(clock.now());
    if (waitMs > longestWaitMs) throw new LarkspurError('rate_limited', 'the bot has had its messages of this minute');
    if (waitMs > 0) await this.#wait(waitMs);
    if (!this.#starts.take(clock.now())) await this.#turn();
  }

  async #post(message: BotMessage): Promise<{ readonly code: number; readonly text: string }> {
    const { webhook, post, clock, secret } = this.#options;
    const seconds = String(Math.floor(clock.wall() / 1_000));
    const signed = secret === undefined ? {} : { timestamp: seconds, sign: signatureOf(seconds, secret) };
    const reply = await post(webhook, JSON.stringify({ ...signed, ...bodyOf(message) }), {}, timeoutMs).catch(
      (error: unknown) => {
        // Whoever gave the way to post knows that nothing was sent, or does not.
        if (error instanceof LarkspurError) throw error;
        throw new LarkspurError('no_answer', `the bot did not answer: ${messageOf(error)}`, { cause: error });
      },
    );
    const { code, text } = readEnvelope(Buffer.from(reply.body));
    if (code !== undefined && code !== 0) return { code, text };
    if (reply.status >= 300) return { code: reply.status, text: `HTTP ${reply.status}` };
    // A page of somebody in between says nothing of the message.
    if (code === undefined)
      throw new LarkspurError('no_answer', `the bot did not answer: HTTP ${reply.status} without a code`);
    return { code, text };
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.timers.after(ms, resolve));
  }
}

/** What the platform wants: the text to be signed is the key, and what is signed is empty. */
export function signatureOf(seconds: string, secret: string): string {
  return createHmac('sha256', `${seconds}\n${secret}`).update('').digest('base64');
}

function bodyOf({ title, text, link }: BotMessage): object {
  const line = [
    { tag: 'text', text: cut(text) },
    ...(link === undefined ? [] : [{ tag: 'a', text: ` ${link}`, href: link }]),
  ];
  return { msg_type: 'post', content: { post: { zh_cn: { title: title.slice(0, 200), content: [line] } } } };
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= mostTextBytes ? text : `${bytes.subarray(0, mostTextBytes).toString('utf8')}…`;
}
