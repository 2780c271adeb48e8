import { request } from 'undici';

import type { Config } from '../config/config.ts';
import { type ErrorCode, errorCodes, LarkspurError, messageOf } from '../model/errors.ts';
import { urlOf } from '../model/http.ts';
import { jsonOf } from '../model/json-levels.ts';
import { isTree } from '../model/schema-words.ts';

import { targetOf } from './target-of.ts';

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
  return { url: url ?? urlOf(admin), token: adminToken };
}

/** Those admin ports, or else the configured one. */
export function adminAddresses(config: Config, urls: readonly string[]): readonly AdminAddress[] {
  return urls.length === 0 ? [adminAddress(config)] : urls.map((url) => adminAddress(config, url));
}

/** What some workers answer, each by itself. */
export interface Asked<T> {
  readonly answers: readonly T[];
  /** Why a worker that is there gave none; the first of them. */
  readonly refusal: Error | undefined;
  /** That nobody is there; the first of them. */
  readonly absence: Error | undefined;
}

/** Asks the workers behind some admin ports the same. Never rejects. @param urls none: the configured admin port */
export async function askEach<T>(config: Config, urls: readonly string[], question: AdminQuestion): Promise<Asked<T>> {
  const asked = adminAddresses(config, urls).map((address) => askAdmin<T>(address, question));
  const replies = await Promise.allSettled(asked);
  const failures = replies.flatMap((reply) => (reply.status === 'rejected' ? [reply.reason as Error] : []));
  return {
    answers: replies.flatMap((reply) => (reply.status === 'fulfilled' ? [reply.value] : [])),
    refusal: failures.find((error) => !isAbsence(error)),
    absence: failures.find(isAbsence),
  };
}

function isAbsence(error: unknown): boolean {
  return error instanceof LarkspurError && error.retryable;
}

const defaultPatienceMs = 600_000;

/** Asks an admin port. Rejects with the `LarkspurError` that it answers, or `not_found` when nobody answers. */
export async function askAdmin<T>(address: AdminAddress, question: AdminQuestion): Promise<T> {
  const { status, text } = await ask(address, question);
  const answer = jsonOf(text);
  if (status < 300 && isTree(answer)) return answer as T;
  const { code, detail } = isTree(answer) ? answer : {};
  const known = errorCodes.find((one): one is ErrorCode => one === code);
  if (known !== undefined) throw new LarkspurError(known, typeof detail === 'string' ? detail : `HTTP ${status}`);
  throw stranger(address, status);
}

/** The page of metrics behind an admin port. Rejects like {@link askAdmin}. */
export async function askMetrics(address: AdminAddress): Promise<string> {
  const { status, text } = await ask(address, { path: '/metrics' });
  if (status < 300) return text;
  if (status !== 401 && status !== 403) throw stranger(address, status);
  throw new LarkspurError('unauthorized', `${address.url}/metrics answered HTTP ${status}`, {
    cure: 'give the adminToken of that worker in the configuration or LARKSPUR_ADMIN_TOKEN',
  });
}

function stranger({ url }: AdminAddress, status: number): LarkspurError {
  return new LarkspurError('internal', `${url} answered HTTP ${status} and not as an admin port does`, {
    cure: 'name the admin port of a worker with --url',
  });
}

async function ask({ url, token, patienceMs }: AdminAddress, question: AdminQuestion) {
  const { method = 'GET', path, query = {}, body } = question;
  const target = targetOf(url, path, 'an admin port', 'http://worker-1:9464');
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
