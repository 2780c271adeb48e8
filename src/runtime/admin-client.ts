import { request } from 'undici';

import type { Config } from '../config/config.ts';
import { type ErrorCode, errorCodes, LarkspurError, messageOf } from '../model/errors.ts';

/** An admin port, and what it asks for. */
export interface AdminAddress {
  readonly url: string;
  readonly token: string | undefined;
  /** How long to wait for a whole answer; default: 10 min until it begins, since some questions read a whole topic. */
  readonly patienceMs?: number;
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

const defaultPatienceMs = 600_000;

/** Asks an admin port. Rejects with the `LarkspurError` that it answers, or `not_found` when nobody answers. */
export async function askAdmin<T>(address: AdminAddress, question: AdminQuestion): Promise<T> {
  const { status, text } = await ask(address, question);
  const answer = JSON.parse(text) as { readonly code?: unknown; readonly detail?: string };
  if (status < 300) return answer as T;
  const code = errorCodes.find((known): known is ErrorCode => known === answer.code) ?? 'internal';
  throw new LarkspurError(code, answer.detail ?? `HTTP ${status}`);
}

/** The page of metrics behind an admin port. Rejects like {@link askAdmin}. */
export async function askMetrics(address: AdminAddress): Promise<string> {
  const { status, text } = await ask(address, { path: '/metrics' });
  if (status < 300) return text;
  throw new LarkspurError('unauthorized', `${address.url}/metrics answered HTTP ${status}`, {
    cure: 'give the adminToken of that worker in the configuration or LARKSPUR_ADMIN_TOKEN',
  });
}

async function ask({ url, token, patienceMs }: AdminAddress, question: AdminQuestion) {
  const { method = 'GET', path, query = {}, body } = question;
  const target = new URL(path, url);
  for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
  try {
    const reply = await request(target, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headersTimeout: patienceMs ?? defaultPatienceMs,
      ...(patienceMs === undefined ? {} : { signal: AbortSignal.timeout(patienceMs) }),
    });
    return { status: reply.statusCode, text: await reply.body.text() };
  } catch (error) {
    throw new LarkspurError('not_found', `no process answers at ${target.origin}: ${messageOf(error)}`, {
      cure: 'name the admin port of a worker with --url',
      cause: error,
      retryable: true,
    });
  }
}
