import { request } from 'undici';

import { LarkspurError, messageOf } from '../model/errors.ts';
import { jsonOf } from '../model/json-levels.ts';

import { targetOf } from './target-of.ts';

/** An ingress, and what it asks for. */
export interface IngressAddress {
  readonly url: string;
  readonly token: string | undefined;
}

/** One call to be handed in. */
export interface CallRequest {
  /** The call as JSON. */
  readonly body: string;
  readonly key: string | undefined;
  /** e.g. `3s`. */
  readonly wait: string;
}

// What connecting and an ingress that is busy may cost beside the wait itself.
const graceMs = 60_000;

/**
 * Hands one call to an ingress and waits for the answer, whatever its status.
 * @throws LarkspurError `config_invalid` for an address that is none, `not_found` when no ingress answers
 */
export async function sendCall(
  { url, token }: IngressAddress,
  { body, key, wait }: CallRequest,
): Promise<{ readonly status: number; readonly answer: unknown }> {
  const target = targetOf(url, '/v1/calls', 'an ingress', 'http://127.0.0.1:8080');
  target.searchParams.set('wait', wait);
  if (key !== undefined) target.searchParams.set('key', key);
  const headers = {
    'content-type': 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
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
    return { status: reply.statusCode, answer: jsonOf(text) ?? text };
  } catch (error) {
    throw new LarkspurError('not_found', `no ingress answers at ${target.origin}: ${messageOf(error)}`, {
      cure: 'Start one with `larkspur up` or `larkspur ingress`, or name another with --url.',
      cause: error,
    });
  }
}
