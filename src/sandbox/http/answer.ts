/** One HTTP answer, before it is sent. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON value, or text for what is not JSON. */
  readonly body: unknown;
}

/** One field that did not pass the gateway's check. */
interface FieldViolation {
  readonly field: string;
  readonly value: string;
  readonly description: string;
}

/** A success in the usual envelope. */
export function ok(data: unknown): Answer {
  return { status: 200, body: { code: 0, msg: 'success', data } };
}

/** A failure as the platform words it. The gate adds `error.log_id`. */
export function failure(status: number, code: number, msg: string, error: object = {}): Answer {
  return { status, body: { code, msg, error } };
}

/** The gateway's own field check. */
export function fieldFailure(field: string, value: unknown, description: string): Answer {
  const violation = { field, value: typeof value === 'string' ? value : '', description } satisfies FieldViolation;
  return failure(400, 99992402, 'field validation failed', { field_violations: [violation] });
}

/** A tier's refusal. `resetSeconds` 0: without the header, which may be missing in reality too. */
export function rateLimited(status: number, resetSeconds: number, limit?: number): Answer {
  return {
    ...failure(status, 99991400, 'request trigger frequency limit'),
    headers: {
      ...(resetSeconds > 0 && { 'x-ogw-ratelimit-reset': String(resetSeconds) }),
      ...(limit !== undefined && { 'x-ogw-ratelimit-limit': String(limit) }),
    },
  };
}

/** A page as a proxy in front of the platform would show it. */
export function htmlPage(status: number, title: string): Answer {
  return {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8' },
    body: `<html><head><title>${status} ${title}</title></head><body><h1>${status} ${title}</h1></body></html>`,
  };
}
