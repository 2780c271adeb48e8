import { type Answer } from '../http/answer.ts';
import type { ApiCall, Job } from '../http/job.ts';
import { markerOf } from '../ledger/marker.ts';

const longestDelayMs = 600_000;
const readOnly = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Any HTTP upstream: answers what it was asked, after `?delayMs`. Whatever is no read counts as an effect. */
export function echo(method: string, path: string, { query, headers, body }: ApiCall): Job | Answer {
  const delayMs = Math.min(longestDelayMs, Math.max(0, Number(query['delayMs'] ?? 0) || 0));
  const shown = headers['authorization'] === undefined ? headers : { ...headers, authorization: '***' };
  const content = Buffer.isBuffer(body) ? body.toString('base64') : body;
  return {
    delayMs,
    ...(!readOnly.has(method) && { marker: markerOf({ ...query, ...fieldsOf(body) }, path) }),
    answer: () => ({ status: 200, body: { method, path, query, headers: shown, body: content } }),
  };
}

function fieldsOf(body: unknown): object {
  return typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && !Array.isArray(body) ? body : {};
}
