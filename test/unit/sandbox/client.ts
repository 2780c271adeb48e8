import { Pool } from 'undici';
import { onTestFinished } from 'vitest';

import type { SandboxOptions } from '../../../src/sandbox/options.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

/** An answer, read to its end. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: { code?: number; msg?: string; data?: Record<string, unknown>; error?: Record<string, unknown> };
}

interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** A sandbox in virtual time and a client of it; both end with the test. */
export class Bench {
  readonly time: VirtualTime;
  readonly sandbox: Sandbox;
  readonly #pool: Pool;
  token = '';

  constructor(time: VirtualTime, sandbox: Sandbox) {
    this.time = time;
    this.sandbox = sandbox;
    this.#pool = new Pool(sandbox.url, { connections: 8 });
    onTestFinished(async () => {
      await this.#pool.destroy();
      await sandbox.close();
    });
  }

  async ask(path: string, { method = 'GET', body, headers, signal }: Asked = {}): Promise<Reply> {
    const isJson = body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body);
    const answer = await this.#pool.request({
      path,
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : body }),
      ...(signal !== undefined && { signal }),
    });
    const text = await answer.body.text();
    let json: Reply['json'] = {};
    if (/^[[{]/.test(text)) json = JSON.parse(text) as Reply['json'];
    return { status: answer.statusCode, headers: answer.headers as Reply['headers'], text, json };
  }

  /** Asks as the app whose token was fetched last. */
  call(path: string, asked: Asked = {}): Promise<Reply> {
    return this.ask(path, { ...asked, headers: { authorization: `Bearer ${this.token}`, ...asked.headers } });
  }

  async signIn(id = 'cli_a1', secret = 's3cret'): Promise<Reply> {
    const reply = await this.ask('/open-apis/auth/v3/tenant_access_token/internal', {
      method: 'POST',
      body: { app_id: id, app_secret: secret },
    });
    this.token = (reply.json as { tenant_access_token?: string }).tenant_access_token ?? '';
    return reply;
  }

  /** Sends a text message with its number inside, as a plain user call does. */
  send(chat: string, n: number, more: { uuid?: string; headers?: Record<string, string>; signal?: AbortSignal } = {}) {
    const { uuid, ...asked } = more;
    return this.call('/open-apis/im/v1/messages?receive_id_type=chat_id', {
      method: 'POST',
      body: { receive_id: chat, msg_type: 'text', content: JSON.stringify({ text: `hello n=${n}` }), uuid },
      ...asked,
    });
  }
}

/** Starts a sandbox in virtual time and signs in. */
export async function bench(options: SandboxOptions = {}): Promise<Bench> {
  const time = new VirtualTime();
  const made = new Bench(time, await createSandbox({ clock: time, timers: time, ...options }));
  await made.signIn();
  return made;
}
