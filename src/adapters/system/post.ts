import { Agent, request } from 'undici';

/** Posts JSON to an address and resolves with the answer, of which it reads the beginning. Rejects when there is none within the time. */
export type Post = (
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  timeoutMs: number,
) => Promise<{ readonly status: number; readonly body: string }>;

const mostAnswerBytes = 10_000;
// Well below what is waited for an answer: else nobody would know that nothing was sent.
const connectTimeoutMs = 2_000;
const agent = new Agent({ connect: { timeout: connectTimeoutMs } });

/** {@link Post} over a connection of its own. */
export const post: Post = async (url, body, headers, timeoutMs) => {
  const reply = await request(url, {
    method: 'POST',
    dispatcher: agent,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body,
    signal: AbortSignal.timeout(timeoutMs),
  });
  return { status: reply.statusCode, body: await beginningOf(reply.body) };
};

/** What comes after it is not read, however much it is. */
async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= mostAnswerBytes) break;
  }
  return Buffer.concat(pieces).toString('utf8', 0, mostAnswerBytes);
}
