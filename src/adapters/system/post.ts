import { request } from 'undici';

/** Posts JSON to an address and resolves with the answer. Rejects when there is none within the time. */
export type Post = (
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  timeoutMs: number,
) => Promise<{ readonly status: number; readonly body: string }>;

const mostAnswerChars = 10_000;

/** {@link Post} over a connection of its own. */
export const post: Post = async (url, body, headers, timeoutMs) => {
  const reply = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body,
    signal: AbortSignal.timeout(timeoutMs),
  });
  return { status: reply.statusCode, body: (await reply.body.text()).slice(0, mostAnswerChars) };
};
