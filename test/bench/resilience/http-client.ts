import { setTimeout as sleep } from 'node:timers/promises';

import { Pool } from 'undici';

import type { Contestant } from '../offer.ts';

import { messageFor } from './message.ts';

const attemptMs = 1_000;
const tokenRefused = new Set([99991661, 99991663, 99991664]);

interface Answer {
  readonly status: number;
  readonly resetS: number;
  readonly code: number | undefined;
}

/**
 * The control: a client as services carry it. It keeps its token until that is refused, gives each attempt a second and each
 * message its `uuid`. With `retries` it is a careful one: it comes again after 0.5, 1, 2 s and some chance, after what the
 * platform asks for where that is longer. What it does not know is how the calls beside it fare.
 */
export function httpClient(url: string, retries: number): Contestant {
  const pool = new Pool(url, { connections: 128, pipelining: 1 });
  let token: Promise<string> | undefined;
  let requests = 0;

  const post = async (path: string, bearer: string | undefined, body: object) => {
    const headers = { 'content-type': 'application/json', ...(bearer && { authorization: `Bearer ${bearer}` }) };
    const signal = AbortSignal.timeout(attemptMs);
    const reply = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body), signal });
    return { status: reply.statusCode, headers: reply.headers, text: await reply.body.text() };
  };
  const fetchToken = async (): Promise<string> => {
    const secret = { app_id: 'cli_bench', app_secret: 'sandbox' };
    const { text } = await post('/open-apis/auth/v3/tenant_access_token/internal', undefined, secret);
    return (JSON.parse(text) as { tenant_access_token: string }).tenant_access_token;
  };
  const attempt = async (n: number): Promise<Answer> => {
    const { path, query, body } = messageFor(n);
    requests++;
    const asked = (token ??= fetchToken());
    try {
      const { status, headers, text } = await post(`${path}?${new URLSearchParams(query).toString()}`, await asked, {
        ...body,
        uuid: `m-${n}`,
      });
      const { code } = (text.startsWith('{') ? JSON.parse(text) : {}) as { code?: number };
      if (tokenRefused.has(code ?? 0) && token === asked) token = undefined;
      return { status, resetS: Number(headers['x-ogw-ratelimit-reset'] ?? 0), code };
    } catch {
      return { status: 0, resetS: 0, code: undefined };
    }
  };
  return {
    call: async (n) => {
      for (let tried = 0; ; tried++) {
        const { status, code, resetS } = await attempt(n);
        if (status === 200 && code === 0) return true;
        if (tried >= retries) return false;
        await sleep(Math.max(Math.min(500 * 2 ** tried, 5_000), resetS * 1_000) + Math.random() * 200);
      }
    },
    requests: () => requests,
    close: () => pool.destroy(),
  };
}
