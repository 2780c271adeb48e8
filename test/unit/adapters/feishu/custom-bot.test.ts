import { afterEach, describe, expect, it } from 'vitest';

import { CustomBot, signatureOf } from '../../../../src/adapters/feishu/custom-bot.ts';
import { systemClock, systemRandom, systemTimers } from '../../../../src/adapters/system/clock.ts';
import { post } from '../../../../src/adapters/system/post.ts';
import type { Sandbox } from '../../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../../src/sandbox/sandbox.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

const sandboxes: Sandbox[] = [];
afterEach(async () => {
  for (const sandbox of sandboxes.splice(0)) await sandbox.close();
});

describe('a custom bot', () => {
  it('signs as the platform wants it', () => {
    expect(signatureOf('1599360473', 'demo')).toBe('l1N0gAcBjdwBvGm1xMjOF0XSyaLRpR7tuO5dHfhAYc8=');
  });

  it('keeps 5 a second and 100 a minute', async () => {
    const time = new VirtualTime();
    const starts: number[] = [];
    const bot = new CustomBot({
      ...{ webhook: 'http://bot', secret: undefined, clock: time, timers: time, random: seededRandom(1) },
      post: () => {
        starts.push(time.now());
        return Promise.resolve({ status: 200, body: '{"code":0}' });
      },
    });
    const message = { title: 't', text: 'x', link: undefined };
    const sent = Array.from({ length: 130 }, () => bot.send(message));
    for (let second = 0; second < 150; second++) await time.advanceAsync(1_000);
    await Promise.all(sent);
    const most = (windowMs: number) =>
      Math.max(...starts.map((from) => starts.filter((at) => at >= from && at < from + windowMs).length));
    expect([starts.length, most(1_000), most(60_000)]).toEqual([130, 5, 100]);
  });

  it('comes again after a refusal, also one with status 200, and not without an answer', async () => {
    const time = new VirtualTime();
    const answers = [
      '{"code":11232,"msg":"frequency limited"}',
      '{"code":9499,"msg":"too many request"}',
      '{"code":0}',
    ];
    let asked = 0;
    const options = { webhook: 'http://bot', secret: undefined, clock: time, timers: time, random: seededRandom(1) };
    const refused = new CustomBot({
      ...options,
      post: () => Promise.resolve({ status: 200, body: answers[asked++] ?? '' }),
    });
    const sent = refused.send({ title: 't', text: 'x', link: undefined });
    await time.advanceAsync(60_000);
    await sent;
    expect(asked).toBe(3);

    const silent = new CustomBot({ ...options, post: () => Promise.reject(new Error('ECONNRESET')) });
    await expect(silent.send({ title: 't', text: 'x', link: undefined })).rejects.toMatchObject({ code: 'no_answer' });
  });

  it.each([
    ['a code in StatusCode alone', 200, '{"code":0,"StatusCode":19001,"StatusMessage":"bad token"}', 'bad_request'],
    ['good words with a bad status', 502, '{"code":0}', 'bad_request'],
    ['a page of somebody in between', 200, '<html>log in</html>', 'no_answer'],
    ['JSON without a code', 200, '{"ok":true}', 'no_answer'],
  ])('has not delivered what is answered with %s', async (_, status, body, code) => {
    const time = new VirtualTime();
    const bot = new CustomBot({
      ...{ webhook: 'http://bot', secret: undefined, clock: time, timers: time, random: seededRandom(1) },
      post: () => Promise.resolve({ status, body }),
    });
    await expect(bot.send({ title: 't', text: 'x', link: undefined })).rejects.toMatchObject({ code });
  });

  it('is refused by the sandbox after five in a second', async () => {
    const sandbox = await createSandbox();
    sandboxes.push(sandbox);
    const hook = `${sandbox.url}/open-apis/bot/v2/hook/b-3`;
    const body = JSON.stringify({ msg_type: 'text', content: { text: 'hi' } });
    const replies = await Promise.all(Array.from({ length: 7 }, () => post(hook, body, {}, 5_000)));
    const codes = replies.map((reply) => (JSON.parse(reply.body) as { code: number }).code);
    expect(codes.sort((a, b) => a - b)).toEqual([0, 0, 0, 0, 0, 11232, 11232]);
    const bot = new CustomBot({
      ...{ webhook: hook, secret: undefined, post, clock: systemClock, timers: systemTimers, random: systemRandom },
    });
    await bot.send({ title: 't', text: 'later', link: undefined });
    expect(sandbox.bots.posts()).toHaveLength(6);
  });
});
