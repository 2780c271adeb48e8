import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { type HttpResponse, problemResponse } from '../../model/http.ts';

/** Why a request may not pass, or whose it is: of a client by name, or of the house. */
export type Guard = (
  headers: IncomingHttpHeaders,
) => { readonly refusal: HttpResponse } | { readonly client: string | undefined };

/** A token and whose it is. */
export interface ClientToken {
  readonly name: string;
  readonly token: string;
}

/**
 * Decides who may ask. With tokens: who shows one as `Authorization: Bearer`, compared in constant time. Without one the
 * server listens on loopback only, and a browser on this machine is the danger: a page may reach it under a name of its
 * own that resolves to 127.0.0.1 (DNS rebinding), or post to it from another origin. Both are refused.
 * @param token of the house @param clients whose tokens count as well
 */
export function createGuard(token: string | undefined, clients: readonly ClientToken[] = []): Guard {
  if (token !== undefined || clients.length > 0) return refuseWithout(token, clients);
  return (headers) => {
    const refusal = refusalOfStranger(headers);
    return refusal === undefined ? { client: undefined } : { refusal };
  };
}

/** Whether a host name or address can only be reached from this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}

function refuseWithout(token: string | undefined, clients: readonly ClientToken[]): Guard {
  const own = token === undefined ? [] : [{ name: undefined, wanted: digest(token) }];
  const known = [...own, ...clients.map(({ name, token }) => ({ name, wanted: digest(token) }))];
  return ({ authorization = '' }) => {
    const [, given = ''] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
    const shown = digest(given);
    // All are compared, so that the time tells nothing about which one is near.
    const [match] = known.filter(({ wanted }) => timingSafeEqual(shown, wanted));
    if (given !== '' && match !== undefined) return { client: match.name };
    const refusal = problemResponse({
      status: 401,
      code: 'unauthorized',
      title: 'A token is needed',
      detail: 'Send the header "Authorization: Bearer ..." with the value of LARKSPUR_ADMIN_TOKEN, or of a client.',
    });
    return { refusal: { ...refusal, headers: { ...refusal.headers, 'www-authenticate': 'Bearer realm="larkspur"' } } };
  };
}

function refusalOfStranger({ host = '', origin }: IncomingHttpHeaders): HttpResponse | undefined {
  const name = hostNameOf(`http://${host}`);
  const detail = !isLoopbackHost(name)
    ? 'Without a token this address answers only to localhost, 127.0.0.1 and [::1] in the Host header.'
    : origin !== undefined && hostNameOf(origin) !== name
      ? 'Without a token this address does not answer pages of another origin.'
      : undefined;
  if (detail === undefined) return undefined;
  return problemResponse({ status: 403, code: 'unauthorized', title: 'Not from there', detail });
}

function hostNameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

// Digests have one length, so the comparison tells nothing about the token's.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
