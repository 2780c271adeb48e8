import { hash } from 'node:crypto';

import type { Call } from './call.ts';
import { encodeMultipart } from './multipart.ts';

/** Body of a request with its content type. */
export interface EncodedBody {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** The body of a call as bytes; the same for the same call and id, so that every attempt sends the same. */
export function encodeBody(call: Pick<Call, 'body' | 'multipart'>, id: string): EncodedBody | undefined {
  if (call.multipart !== undefined) {
    const boundary = `larkspur-${hash('sha256', `boundary ${id}`, 'hex').slice(0, 32)}`;
    return {
      contentType: `multipart/form-data; boundary=${boundary}`,
      bytes: encodeMultipart(call.multipart, boundary),
    };
  }
  if (call.body === undefined) return undefined;
  return { contentType: 'application/json; charset=utf-8', bytes: Buffer.from(JSON.stringify(call.body)) };
}

/**
 * Path and query of a request, in ASCII. Lists become repeated parameters (`user_ids=a&user_ids=b`), which is what
 * Feishu reads. What is already percent-encoded in the path stays as it is.
 */
export function encodeTarget(path: string, query: Call['query']): string {
  const ascii = path.replace(/[^\x21-\x7e]+/g, percentEncode);
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const item of Array.isArray(value) ? value : [value]) {
      pairs.push(`${percentEncode(name)}=${percentEncode(String(item))}`);
    }
  }
  return pairs.length === 0 ? ascii : `${ascii}?${pairs.join('&')}`;
}

/** Like `encodeURIComponent`, but a lone surrogate becomes U+FFFD instead of an exception. */
function percentEncode(text: string): string {
  return encodeURIComponent(Buffer.from(text, 'utf8').toString('utf8'));
}

/** The caller's headers and the type of the body, names in lower case. */
export function encodeHeaders({ headers, multipart }: Call, contentType: string | undefined): Record<string, string> {
  const encoded: Record<string, string> = contentType === undefined ? {} : { 'content-type': contentType };
  if (headers === undefined) return encoded;
  for (const [name, value] of Object.entries(headers)) encoded[name.toLowerCase()] = value;
  // The boundary is ours, so a multipart type from outside would not fit the body.
  if (multipart !== undefined && contentType !== undefined) encoded['content-type'] = contentType;
  return encoded;
}
