import { headerText, type RecordHeaders } from './record.ts';

/**
 * On a record on `calls` that is no call: the id of one that nobody wants any more. With the key of that call it reaches the
 * worker that has it.
 */
export const cancelHeader = 'larkspur-cancel';

/** Headers that travel with a call: in on the record, out on the request, back on the result. */
export const contextHeaders = ['traceparent', 'tracestate', 'x-request-id', 'x-feishu-openid'] as const;

/** Header that says how many retries came before an attempt. */
const retryCountHeader = 'x-retry-count';

// Values of record headers come from outside: what HTTP cannot carry is left behind, never passed on.
const sendable = /^[\t\x20-\x7e]{1,1024}$/;

/**
 * The context headers of one attempt. `x-request-id` defaults to the call id, so that a request can always be traced.
 * @param retries attempts made before this one
 */
export function requestContext(headers: RecordHeaders, id: string, retries: number): Record<string, string> {
  const context: Record<string, string> = { 'x-request-id': id, [retryCountHeader]: String(retries) };
  for (const name of contextHeaders) {
    const value = headerText(headers, name);
    if (value !== undefined && sendable.test(value)) context[name] = value;
  }
  return context;
}

/** The context headers of an input, byte for byte, for its result. */
export function carriedHeaders(headers: RecordHeaders): RecordHeaders {
  return headers.filter(([name]) => contextHeaders.some((carried) => carried === name));
}
