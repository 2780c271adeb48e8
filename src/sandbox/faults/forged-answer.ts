import { type Answer, failure, htmlPage, rateLimited } from '../http/answer.ts';

import type { FaultRule } from './fault-rule.ts';

/** The answer of a fault that speaks instead of the API, or `undefined` for a fault that lets the API act. */
export function forgedAnswer(rule: FaultRule): Answer | undefined {
  switch (rule.kind) {
    case '429':
      return rateLimited(429, rule.resetSeconds ?? 1);
    case '400-99991400':
      return rateLimited(400, rule.resetSeconds ?? 1);
    case '503':
      return withRetryAfter(bodied(503, 'Service Unavailable', rule.body), rule);
    case '502-html':
      return htmlPage(502, 'Bad Gateway');
    case 'quota':
      return failure(429, 99991403, 'this month tenant api call quota has been exceeded');
    case 'status':
      return withRetryAfter(bodied(rule.status ?? 500, 'Forged Status', rule.body), rule);
    case 'code':
      return failure(rule.status ?? 400, rule.code ?? 1, rule.msg ?? 'forged failure');
    case 'timeout':
    case 'hang':
    case 'reset-before':
    case 'reset-after':
    case 'slow-drip':
    case 'token-revoked':
      return undefined;
  }
}

function bodied(status: number, title: string, body: FaultRule['body'] = 'empty'): Answer {
  switch (body) {
    case 'empty':
      return { status, body: '' };
    case 'json':
      return failure(status, 2200, 'internal error');
    case 'html':
      return htmlPage(status, title);
  }
}

function withRetryAfter(answer: Answer, { retryAfterSeconds }: FaultRule): Answer {
  if (retryAfterSeconds === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfterSeconds) } };
}
