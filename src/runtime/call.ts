import { request } from 'undici';

import type { Config } from '../config/config.ts';
import { LarkspurError, messageOf } from '../model/errors.ts';

/** One call to be sent through an ingress. */
export interface CallRequest {
  readonly body: string;
  readonly url: string | undefined;
  readonly key: string | undefined;
  /** e.g. `3s`. */
  readonly wait: string;
}

// What connecting and an ingress that is busy may cost beside the wait itself.
const graceMs = 60_000;

/**
 * Sends one call through an ingress and waits for its answer. `ok` is false for anything but a result.
 * @throws LarkspurError `timed_out` or `not_found` when no ingress answers
 */
export async function sendCall(
  { listen, adminToken }: Config,
  { body, url, key, wait }: CallRequest,
): Promise<{ readonly ok: boolean; readonly answer: unknown }> {
  const { host, port } = listen.ingress;
  const target = new URL('/v1/calls', url ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`);
  target.searchParams.set('wait', wait);
  if (key !== undefined) target.searchParams.set('key', key);
  const headers = {
    'content-type': 'application/json',
    ...(adminToken === undefined ? {} : { authorization: `Bearer ${adminToken}` }),
  };
  try {
    const reply = await request(target, {
      method: 'POST',
      headers,
      body,
      headersTimeout: graceMs,
      bodyTimeout: graceMs,
    });
    const text = await reply.body.text();
    return { ok: reply.statusCode === 200, answer: parsed(text) };
  } catch (error) {
    throw new LarkspurError('not_found', `no ingress answers at ${target.origin}: ${messageOf(error)}`, {
      cure: 'Start one with `larkspur up` or `larkspur ingress`, or name another with --url.',
      cause: error,
    });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
