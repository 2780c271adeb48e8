import { expect, it } from 'vitest';

import { type Bench, bench } from './client.ts';

const post = async (b: Bench, body: unknown) =>
  (await b.ask('/open-apis/bot/v2/hook/b-1', { method: 'POST', body })).json.code;

it('a custom bot takes texts, and cards in a member of their own, as the platform does', async () => {
  const b = await bench();
  expect(await post(b, { msg_type: 'text', content: { text: 'hi' } })).toBe(0);
  expect(await post(b, { msg_type: 'interactive', card: { elements: [] } })).toBe(0);
  expect(await post(b, { msg_type: 'interactive', content: { elements: [] } })).toBe(19002);
  expect(await post(b, { msg_type: 'text', card: {} })).toBe(19002);
  expect(b.sandbox.bots.posts()).toHaveLength(2);
});

it('a custom bot measures a message in bytes, of which most characters of Chinese have three', async () => {
  const b = await bench();
  const text = (characters: number) => ({ msg_type: 'text', content: { text: '告'.repeat(characters) } });
  expect(await post(b, text(6_000))).toBe(0);
  expect(await post(b, text(7_000))).toBe(19036);
});

it('the latest posts of bots are kept, as many as details says', async () => {
  const b = await bench({ details: 2 });
  for (const text of ['1', '2', '3']) expect(await post(b, { msg_type: 'text', content: { text } })).toBe(0);
  expect(b.sandbox.bots.posts().map(({ message }) => message)).toMatchObject([
    { content: { text: '2' } },
    { content: { text: '3' } },
  ]);
});
