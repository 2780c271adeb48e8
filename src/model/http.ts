import type { ErrorCode } from './errors.ts';

/** One HTTP request as our own doors see it, independent of the server that read it. */
export interface HttpRequest {
  /** Decoded path parameters by name. */
  readonly params: Readonly<Record<string, string>>;
  /** Decoded query parameters; of a repeated one the last. */
  readonly query: Readonly<Record<string, string>>;
  /** Names in lower case; of a repeated one the values joined by `, `. `x-request-id` is always there. */
  readonly headers: Readonly<Record<string, string>>;
  /** The raw bytes, empty when there were none. */
  readonly body: Buffer;
  /** Name of the client whose token was shown; `undefined`: the token of the house, or none was asked for. */
  readonly client?: string | undefined;
}

/** What a door answers. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One mistake in what a client sent: where, and what is wrong. */
export interface Fault {
  /** JSON pointer into the body, or the name of a query or path parameter. */
  readonly at: string;
  readonly message: string;
}

/** A fault for each parameter that is not known: one that is misspelt would be left out without a word. */
export function unknownWords(words: Readonly<Record<string, unknown>>, known: readonly string[]): Fault[] {
  return Object.keys(words)
    .filter((name) => !known.includes(name))
    .map((name) => ({ at: name, message: `is not known; there are ${known.join(', ')}` }));
}

/** What a problem tells beside its title. */
export interface ProblemDetails {
  readonly status: number;
  /** Stable: scripts may match it. */
  readonly code: ErrorCode;
  /** One line that fits every problem of this code. */
  readonly title: string;
  /** What happened this time and what to do about it; never holds a secret. */
  readonly detail: string;
  /** Every mistake, not the first. */
  readonly faults?: readonly Fault[];
  /** The call it is about. */
  readonly id?: string;
  /** Seconds, at least 1; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** Further members of the problem. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** The URL of an address; an IPv6 one stands in brackets there. */
export function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** An answer in JSON. */
export function jsonResponse(status: number, value: unknown, headers: HttpResponse['headers'] = {}): HttpResponse {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  };
}

/** An answer that says what is wrong: `application/problem+json` (RFC 9457) with a stable `code` beside its members. */
export function problemResponse(details: ProblemDetails): HttpResponse {
  const { status, code, title, detail, faults, id, retryAfterSeconds, more } = details;
  const wait =
    retryAfterSeconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))) };
  return jsonResponse(
    status,
    {
      type: `urn:larkspur:problem:${code}`,
      title,
      status,
      detail,
      code,
      ...(id === undefined ? {} : { id }),
      faults,
      ...more,
    },
    { 'content-type': 'application/problem+json; charset=utf-8', ...wait },
  );
}
