import { type ErrorCode, LarkspurError, messageOf } from '../../model/errors.ts';
import { type HttpResponse, problemResponse } from '../../model/http.ts';

const statusOf: Partial<Record<ErrorCode, number>> = {
  call_invalid: 422,
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  conflict: 409,
  rate_limited: 429,
  not_found: 404,
  topic_missing: 404,
  record_too_large: 413,
  timed_out: 504,
  kafka_unavailable: 503,
  redis_unavailable: 503,
  sink_unavailable: 503,
  store_full: 503,
  auth_unavailable: 503,
};

/** The problem that tells a client about anything thrown while its request was handled. Never tells about our insides. */
export function problemOf(error: unknown, requestId?: string): HttpResponse {
  if (error instanceof LarkspurError) {
    const status = statusOf[error.code];
    if (status !== undefined) {
      const detail = error.cure === undefined ? error.message : `${error.message}. ${error.cure}`;
      const wait = status === 503 ? { retryAfterSeconds: 5 } : {};
      return problemResponse({
        status,
        code: error.code,
        title: 'The request could not be carried out',
        detail,
        ...wait,
      });
    }
  }
  const status = clientStatusOf(error);
  if (status === 413) {
    const detail = 'The body is larger than this address takes.';
    return problemResponse({ status, code: 'record_too_large', title: 'Too large', detail });
  }
  if (status !== undefined) {
    return problemResponse({ status, code: 'bad_request', title: 'Not a valid request', detail: messageOf(error) });
  }
  return problemResponse({
    status: 500,
    code: 'internal',
    title: 'A fault of Larkspur',
    detail: `The request failed for a reason that is not yours${requestId === undefined ? '' : `; the log has it under requestId ${requestId}`}.`,
  });
}

/** The status of an error that the HTTP layer blames on the client, or `undefined`. */
function clientStatusOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && String(error.code).startsWith('HPE_')) return 400;
  if ('code' in error && error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  if (!('statusCode' in error) || typeof error.statusCode !== 'number') return undefined;
  return error.statusCode >= 400 && error.statusCode < 500 ? error.statusCode : undefined;
}

/** What kept a server from listening, with its cure. */
export function listenFailure(
  error: unknown,
  { name, host, port }: { readonly name: string; readonly host: string; readonly port: number },
): LarkspurError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    return new LarkspurError('port_in_use', `${name} cannot listen on ${host}:${port}: the port is taken`, {
      cure: `Stop the process that holds it (ss -ltnp 'sport = :${port}' names it), or choose another with --${name} or listen.${name}.`,
      cause: error,
    });
  }
  const cure =
    code === 'EACCES'
      ? `Ports below 1024 need privileges: set listen.${name} to a port above.`
      : `Set listen.${name} to an address of this machine, for example 127.0.0.1:${port}.`;
  return new LarkspurError('config_invalid', `${name} cannot listen on ${host}:${port}: ${messageOf(error)}`, {
    cure,
    cause: error,
  });
}
