import { request } from 'undici';

import { compile } from '../../config/compile.ts';
import { complete } from '../../config/complete.ts';
import type { Config } from '../../config/config.ts';
import type { FaultRule } from '../../sandbox/faults/fault-rule.ts';
import type { Sandbox } from '../../sandbox/sandbox-api.ts';
import { withSandbox } from '../with-sandbox.ts';

import type { Chat } from './calls.ts';

/** What goes wrong in the demo, on purpose. A hang and a reset come after the effect: the hard ones. */
const faultMix: readonly FaultRule[] = [
  { kind: '503', rate: 0.05 },
  { kind: '429', rate: 0.05, resetSeconds: 1 },
  { kind: 'hang', rate: 0.01, delayMs: 30_000 },
  { kind: 'reset-after', rate: 0.01 },
];

/** The fault mix in words. */
export const faultMixText = '5 % 503, 5 % 429, 1 % hang, 1 % reset after the write';

// Two bots, because quota is counted by app: while one of them rests after a refusal, the other goes on.
const apps = ['cli_parcels', 'cli_couriers'] as const;

// Feishu's documented tiers hold; answers take about as long as over a good line.
const latencyMs = 40;

// Short enough that a person sees a hanging attempt being given up and repeated.
const timeouts = { connectMs: 1_000, attemptMs: 1_000, totalMs: 30_000 };

/** The demo's configuration: all defaults, whatever lies in the working directory or the environment. */
export function demoConfig(sandboxUrl: string, data: string): Config {
  const { value } = complete(
    { data, drainMs: 5_000, apps: apps.map((id) => ({ id, secret: 'sandbox' })) },
    () => 'demo',
  );
  return withSandbox(compile(value, new Map()), sandboxUrl, { timeouts });
}

/** Opens one thread per chat for the replies, while nothing fails yet; then sets tiers and faults and empties the books. */
export async function prepare(sandbox: Sandbox, chatIds: readonly string[]): Promise<Chat[]> {
  sandbox.configure({ tierMode: 'off', chatPerSecond: 0 });
  const token = await tokenFrom(sandbox);
  const chats: Chat[] = [];
  for (const [at, id] of chatIds.entries()) {
    chats.push({ id, threadId: await openThread(sandbox, token, id), app: apps[at % 2 === 0 ? 0 : 1] });
  }
  sandbox.configure({ tierMode: 'sliding', chatPerSecond: 5, latencyMs });
  sandbox.setFaults(faultMix);
  sandbox.reset();
  return chats;
}

async function tokenFrom(sandbox: Sandbox): Promise<string> {
  const answer = await post(sandbox, '/open-apis/auth/v3/tenant_access_token/internal', undefined, {
    app_id: 'cli_opener',
    app_secret: 'sandbox',
  });
  return (answer as { tenant_access_token: string }).tenant_access_token;
}

async function openThread(sandbox: Sandbox, token: string, chat: string): Promise<string> {
  const answer = await post(sandbox, '/open-apis/im/v1/messages?receive_id_type=chat_id', token, {
    receive_id: chat,
    msg_type: 'text',
    content: JSON.stringify({ text: 'Your parcels today' }),
  });
  return (answer as { data: { message_id: string } }).data.message_id;
}

async function post(sandbox: Sandbox, path: string, token: string | undefined, body: object): Promise<unknown> {
  const { body: answer } = await request(`${sandbox.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  return answer.json();
}
