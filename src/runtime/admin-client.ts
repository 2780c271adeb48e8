import { request } from 'undici';

import type { Config } from '../config/config.ts';
import { type ErrorCode, errorCodes, LarkspurError, messageOf } from '../model/errors.ts';

/** An admin port, and what it asks for. */
export interface AdminAddress {
  readonly url: string;
  readonly token: string | undefined;
}

/** One question to an admin port. */
export interface AdminQuestion {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** The configured admin port, or another one. */
export function adminAddress({ listen: { admin }, adminToken }: Config, url?: string): AdminAddress {
  const host = admin.host.includes(':') ? `[${admin.host}]` : admin.host;
  return { url: url ?? `http://${host}:${admin.port}`, token: adminToken };
}

// Some questions read a whole topic.
const patienceMs = 600_000;

/** Asks an admin port. Rejects with the `LarkspurError` that it answers, or `not_found` when nobody answers. */
export async function askAdmin<T>(address: AdminAddress, question: AdminQuestion): Promise<T> {
  const reply = await ask(address, question);
  const answer = (await reply.body.json()) as { readonly code?: unknown; readonly detail?: string };
  if (reply.statusCode < 300) return answer as T;
  const code = errorCodes.find((known): known is ErrorCode => known === answer.code) ?? 'internal';
  throw new LarkspurError(code, answer.detail ?? `HTTP ${reply.statusCode}`);
}

/** The page of metrics behind an admin port. Rejects like {@link askAdmin}. */
export async function askMetrics(address: AdminAddress): Promise<string> {
  const reply = await ask(address, { path: '/metrics' });
  const text = await reply.body.text();
  if (reply.statusCode < 300) return text;
  throw new LarkspurError('unauthorized', `${address.url}/metrics answered HTTP ${reply.statusCode}`, {
    cure: 'give the adminToken of that worker in the configuration or LARKSPUR_ADMIN_TOKEN',
  });
}

async function ask({ url, token }: AdminAddress, question: AdminQuestion) {
  const { method = 'GET', path, query = {}, body } = question;
  const target = new URL(path, url);
  for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
  return request(target, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headersTimeout: patienceMs,
  }).catch((error: unknown) => {
    throw new LarkspurError('not_found', `no process answers at ${target.origin}: ${messageOf(error)}`, {
      cure: 'name the admin port of a worker with --url',
      cause: error,
      retryable: true,
    });
  });
}
