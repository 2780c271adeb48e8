import type { FastifyRequest } from 'fastify';

import type { HttpRequest } from '../../model/http.ts';

/** A request as our doors see it, out of fastify's. */
export function toHttpRequest(request: FastifyRequest, client: string | undefined): HttpRequest {
  return {
    params: textsOf(request.params),
    query: textsOf(request.query),
    headers: { ...textsOf(request.headers), 'x-request-id': request.id },
    client,
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
  };
}

function textsOf(fields: unknown): Record<string, string> {
  const texts: [string, string][] = [];
  for (const [name, value] of Object.entries(fields ?? {})) {
    const last: unknown = Array.isArray(value) ? value.at(-1) : value;
    if (typeof last === 'string') texts.push([name, last]);
  }
  return Object.fromEntries(texts);
}
